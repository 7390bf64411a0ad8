"""Five grammars in Lark's syntax, some of which have terminals in common: objects, calls, prose, counts, tags."""

GRAMMARS = {
    "json": r"""
        start: object
        object: "{" [pair ("," pair)*] "}"
        pair: STRING ":" value
        value: object | "[" [value ("," value)*] "]" | STRING | NUMBER | "true" | "false" | "null"
        STRING: /"(?:[^"\\\x00-\x1f]|\\["\\\/bfnrt])*"/
        NUMBER: /-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?/
        %ignore /[ \n\t]+/""",
    "calls": r"""
        start: (NAME "=" sum ";")+
        sum: sum ("+" | "-") call | call
        call: NAME | NAME "(" [sum ("," sum)*] ")" | /[0-9]+/
        NAME: /[a-zA-Z_][a-zA-Z_0-9]*/
        %ignore /[ \n]+/
        %ignore /#[^\n]*\n/""",
    "prose": r"""
        start: W (GAP W)* "."
        W: /[A-Za-z'À-ÿ]{1,12}/
        GAP: ", " | " " | " - " """,
    "counted": r"""
        start: (KEY ":" TEXT "\n")+
        KEY: /[a-z]{1,8}/
        TEXT: /"[^"\n]{0,40}"/
        %ignore " " """,
    "tags": r"""
        start: "<" NAME ">" (start | TEXT)* "</" NAME ">"
        NAME: /[a-z]+/
        TEXT: /[^<>]+/
        %ignore /<!--.*?-->/""",
}
