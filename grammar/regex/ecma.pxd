# ecma.py is compiled as it stands, but for `tick`: first masks of JSON Schemas spend their time in it.

from earleymask.earley._meter cimport tick
