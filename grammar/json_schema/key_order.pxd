# key_order.py is compiled as it stands, without types: first masks of JSON Schemas spend their time in it.
