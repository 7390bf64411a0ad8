"""`name[commit]: ...`: where the rule's first terminal may begin and its text stands, other text does not cover it."""

import pickle
import random

import numpy as np
import pytest

from earleymask import Grammar, GrammarError, Matcher, Vocabulary
from earleymask.earley._forget import forget_now
from support import commit_twin, vocabularies
from support.commit_twin import CommitTwin, lark_text, random_grammar, texts

BYTES = Vocabulary.bytes()
EOS = 256

TAG = """
start: (TEXT | tool)*
tool[commit]: "<tool>" NAME "</tool>"
NAME: /[a-z]+/
TEXT: /(.|\\n)+/
"""


def is_sentence(grammar: Grammar, text: str) -> bool:
    tokens = [*text.encode(), EOS]
    return Matcher(grammar, BYTES).validate(tokens) == len(tokens)


def read(grammar: Grammar, text: str, vocabulary: Vocabulary = BYTES) -> Matcher:
    matcher = Matcher(grammar, vocabulary)
    for byte in text.encode():
        assert matcher.accept(byte)
    return matcher


def allowed(matcher: Matcher) -> set[int]:
    return {int(token) for token in matcher.mask().nonzero()[0]}


# ---- the language ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", True),
        ("free text", True),
        ("<tool>name</tool>", True),
        ("before <tool>name</tool> between <tool>other</tool> after", True),
        ("<tool", True),
        ("<tool <tool>name</tool>", True),
        ("<<tool>name</tool>", True),
        ("</tool>", True),
        ("<tool>", False),
        ("<tool>1", False),
        ("text <tool>name</tool", False),
        ("text <tool>name</tool><tool>2</tool>", False),
        ("<<tool>2</tool>", False),
    ],
)
def test_the_tag_binds(text, expected):
    assert is_sentence(Grammar.from_lark(TAG), text) == expected


def test_without_commit_the_tag_constrains_nothing():
    assert is_sentence(Grammar.from_lark(TAG.replace("[commit]", "")), "<tool>1")


@pytest.mark.parametrize(
    "source",
    [
        'start: TEXT? (tool TEXT?)*\ntool[commit]: "<t>" /[a-z]/\nTEXT: /(?s:.+)/',
        'start: (TEXT | tool)*\ntool[commit]: "<t>" /[a-z]/\nTEXT: /(?s:.)/',  # letter by letter
        'start: (TEXT | tool)*\ntool[commit]: "<t>" /[a-z]/\nTEXT: /(?s:.)/\n%ignore / /',
        'start: (TEXT | mark /[a-z]/)*\nmark[commit]: "<t>"\nTEXT: /(?s:.+)/',  # the terminal alone
        'start: (TEXT | tool)*\ntool[commit]: "<t>" /[a-z]/ | "<u>" /[0-9]/\nTEXT: /(?s:.+)/',
        'start: (TEXT | tool | other)*\ntool[commit]: "<t>" /[a-z]/\nother[commit]: "<u>" /[0-9]/\nTEXT: /(?s:.+)/',
        # The same text at the beginning of two rules: both may follow it.
        'start: (TEXT | tool | other)*\ntool[commit]: "<t>" /[a-m]/\nother[commit]: "<t>" /[n-z]/\nTEXT: /(?s:.+)/',
        'start: %lark {\nstart: (TEXT | tool)*\ntool[commit]: "<t>" /[a-z]/\nTEXT: /(?s:.)/\n%ignore / /\n}',
    ],
)
def test_shapes(source):
    grammar = Grammar.from_lark(source)
    assert not [warning for warning in grammar.warnings if "white space without end" not in warning.message]
    for text in ("<t>a", "x<t>a", "<t>ax", "<<t>z", "x<t>ay<t>b"):
        assert is_sentence(grammar, text), text
    for text in ("<t>", "<t>1", "x<t>1", "<t>a<t>1", "<<t>", "<t>a<t>"):
        assert not is_sentence(grammar, text), text


def test_a_tag_that_must_come():
    grammar = Grammar.from_lark(
        'start: TEXT? tool OTHER?\ntool[commit]: "<t>" /[a-z]/\nTEXT: /(?s:.+)/\nOTHER: /(?s:.+)/'
    )
    assert is_sentence(grammar, "x<t>a")
    assert is_sentence(grammar, "<t>a<t>1")  # after it, the tag may not begin again
    assert not is_sentence(grammar, "x")
    assert not is_sentence(grammar, "x<t>1<t>a")


def test_the_end_of_a_tag_may_commit_too():
    grammar = Grammar.from_lark(
        """
        start: (TEXT | tool)*
        tool: begin TEXT? end /[!]/
        begin[commit]: "<tool>"
        end[commit]: "</tool>"
        TEXT: /(?s:.+)/
        """
    )
    assert is_sentence(grammar, "a<tool>b</tool>!c")
    assert not is_sentence(grammar, "a<tool>b</tool>c</tool>!")
    assert is_sentence(grammar, "a<tool>b<tool></tool>!")  # within the tool, no tool may begin


def test_text_and_all_else_beside_the_rule():
    """Ignored text and other rules give way, too; only other rules with `commit` do not."""
    grammar = Grammar.from_lark(
        """
        start: (WORD | tool | pair)*
        tool[commit]: "<" "a"
        pair: "<b" | "[" tool "]"
        WORD: /[a-z]+/
        %ignore /<?-/
        """
    )
    for text in ("-", "x-y", "<a", "x<a-", "[<a]", "[-<a]"):
        assert is_sentence(grammar, text), text
    for text in ("<-", "<b", "x<-b", "[<b]"):
        assert not is_sentence(grammar, text), text


def test_where_the_rule_may_not_begin_its_text_is_text():
    grammar = Grammar.from_lark(
        """
        start: "(" TEXT ")" (OTHER | tool)*
        tool[commit]: "<t>" /[a-z]/
        TEXT: /[^()]*/
        OTHER: /[^()]/
        """
    )
    assert is_sentence(grammar, "(<t>1)<t>a")
    assert not is_sentence(grammar, "(<t>1)<t>1")


def test_special_tokens_stand_between():
    vocabulary = Vocabulary.from_tokens(
        [b"<t", b">", b"a", b"1", b"</s>", None], special_tokens={"<|x|>": 5}, eos_token_id=4
    )
    grammar = Grammar.from_lark(
        'start: (TEXT | tool | <|x|>)*\ntool[commit]: "<t>" /[a-z]/ | "<u>" <|x|>\nTEXT: /(?s:.+)/'
    )
    assert Matcher(grammar, vocabulary).validate([0, 1, 2, 3, 4]) == 5
    assert Matcher(grammar, vocabulary).validate([0, 1, 3]) == 2
    assert Matcher(grammar, vocabulary).validate([0, 5, 1, 3, 4]) == 5  # the special token cuts the text of the tag


# ---- against the twin -----------------------------------------------------------------------------------------------


def shortest_end(matcher: Matcher, text: str) -> str | None:
    """Return a sentence that begins with the text, "" if there is none, and None if the search was given up."""
    with matcher._explorer() as explorer:
        queue = [(explorer.now(), text)]
        seen = {queue[0][0]}
        for position, found in queue:  # grows while it is read
            if explorer.is_accepting(position):
                return found
            for members, target in explorer.classes(position):
                letters = [byte for byte in members if chr(byte) in commit_twin.LETTERS]
                if letters and target not in seen:
                    seen.add(target)
                    queue.append((target, found + chr(letters[0])))
            if len(queue) > 2000:
                return None
    return ""


def compare(grammar: Grammar, twin: CommitTwin, length: int) -> bool:
    """Compare the sentences up to a length, and that every text that is no dead end for the engine has a sentence.
    Return whether `commit` made a difference."""
    plain = CommitTwin(twin.grammar._replace(heads=frozenset()))
    differs = False
    for text in texts(length):
        tokens = [*text.encode(), EOS]
        matcher = Matcher(grammar, BYTES)
        n = matcher.validate(tokens)
        expected = twin.is_sentence(text)
        assert (n == len(tokens)) == expected, text
        differs |= expected != plain.is_sentence(text)
        if n == len(text):
            sentence = shortest_end(read(grammar, text), text)
            assert sentence != "", text
            if sentence is not None and len(sentence) <= length + 2:
                assert twin.is_sentence(sentence), sentence
    return differs


def tokens_of_letters() -> Vocabulary:
    return Vocabulary.from_tokens([text.encode() for text in texts(3)[1:]] + [b"</s>"], eos_token_id=len(texts(3)) - 1)


@pytest.mark.parametrize("seeds", [range(at, at + 100) for at in range(0, 400, 100)])
def test_random_grammars_mean_what_the_twin_says(seeds):
    vocabulary = tokens_of_letters()
    strings = texts(3)[1:]
    n_compared = n_different = 0
    for seed in seeds:
        given = random_grammar(random.Random(seed))
        source = lark_text(given)
        try:
            grammar = Grammar.from_lark(source)
        except GrammarError:
            continue
        n_compared += 1
        n_different += compare(grammar, CommitTwin(given), 3)
        # Masks of tokens of up to three letters hold what their letters one by one allow.
        rng = random.Random(seed)
        for _ in range(3):
            text = ""
            matcher = Matcher(grammar, vocabulary)
            letters = read(grammar, text)
            for _ in range(3):
                mask = matcher.mask()
                for token, string in enumerate(strings):
                    n = letters.fork().validate(string.encode())
                    assert bool(mask[token]) == (n == len(string)), (source, text, string)
                choices = [token for token in range(len(strings)) if mask[token]]
                if not choices:
                    break
                token = rng.choice(choices)
                assert matcher.accept(token)
                assert all(letters.accept(byte) for byte in strings[token].encode())
                text += strings[token]
    assert n_compared >= 60
    assert n_different >= 5


EXHAUSTIVE = [
    ("[ab<]", "<", ["a"]),
    ("[ab<]+", "<a", ["b"]),
    ("[ab<]*", "<a", ["b", "<"]),
    ("[ab]+|<", "<<", ["a"]),
    ("[ab<]+", "aba", ["<"]),
    ("[ab<]{2}", "a<", ["b"]),
    ("(?:ab|<)+", "<ab", ["b"]),
    ("[ab<]+", "<[ab]", ["<", "a"]),
]


@pytest.mark.parametrize(("free", "head", "rests"), EXHAUSTIVE)
@pytest.mark.parametrize("ignored", [None, "a", "<"])
def test_free_text_and_one_tag_up_to_six_letters(free, head, rests, ignored):
    rules = {"start": [("loop",)], "loop": [(), ("loop", "FREE"), ("loop", "tool")], "tool": []}
    terminals = {"FREE": free, "HEAD": head}
    for number, rest in enumerate(rests):
        terminals |= {f"R{number}": rest} if rest else {}
        rules["tool"].append(("HEAD", f"R{number}") if rest else ("HEAD",))
    terminals |= {"IGNORED": ignored} if ignored else {}
    given = commit_twin.Grammar(rules, terminals, frozenset({"HEAD"}), frozenset({"IGNORED"} if ignored else ()))
    assert compare(Grammar.from_lark(lark_text(given)), CommitTwin(given), 5 if ignored else 6)


# ---- real vocabularies ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["llama3", "deepseek"])
def test_the_tag_cut_across_tokens_at_every_place(name):
    vocabulary = vocabularies.load(name)
    grammar = Grammar.from_lark(
        """
        start: (TEXT | tool)*
        tool[commit]: "<tool_call>" %json {"type": "object", "required": ["x"],
                                           "properties": {"x": {"type": "integer"}}} "</tool_call>"
        TEXT: /(?s:.+)/
        """
    )
    ids = {vocabulary.token_bytes(token): token for token in range(len(vocabulary)) if vocabulary.token_bytes(token)}
    start = b"Sure. "
    tag = b"<tool_call>"
    longest = max(map(len, ids))

    def cuts(text: bytes, n: int):
        """Yield ways of cutting a text into tokens, those with at most `n` tokens."""
        if not text:
            yield []
        for size in range(1, min(len(text), longest) + 1 if n else 0):
            if text[:size] in ids:
                for rest in cuts(text[size:], n - 1):
                    yield [ids[text[:size]], *rest]

    ways = list(cuts(tag, 5))
    ways.append([ids[bytes([byte])] for byte in tag])
    rng = random.Random(1)
    for way in rng.sample(ways, min(len(ways), 60)):
        matcher = Matcher(grammar, vocabulary)
        for token in next(cuts(start, 3)):
            assert matcher.accept(token)
        done = b""
        for token in way:
            mask = matcher.mask()
            assert mask[token]
            # Tokens that finish the tag and go on with what is no call are not in the mask.
            letters = Matcher(grammar, BYTES)
            assert letters.validate(start + done) == len(start + done)
            assert all(letters.accept(byte) for byte in start + done)
            for string, other in ids.items():
                if (done + string).startswith(tag) or rng.random() < 0.005:
                    assert bool(mask[other]) == (letters.validate(string) == len(string)), string
            done += vocabulary.token_bytes(token)
            assert matcher.accept(token)
        mask = matcher.mask()
        assert mask[ids[b"{"]] and not mask[ids[b"Hello"]] and not mask[ids[b"}"]]
        for byte in b'{"x": 1}</tool_call>':
            assert matcher.accept(ids[bytes([byte])])
        mask = matcher.mask()
        assert mask[ids[b"Hello"]] and mask[list(vocabulary.eos_token_ids)].all()


def test_masks_equal_the_walk_with_a_real_vocabulary():
    vocabulary = vocabularies.load("llama3")
    grammar = Grammar.from_lark(TAG)
    for text in (b"", b"<", b"some <tool", b"a <tool>x", b"a <tool>x</tool", b"a <tool>x</tool>\n", b"```<tool></"):
        matcher = Matcher(grammar, vocabulary)
        for byte in text:
            if not matcher.accept(next(t for t in range(256) if vocabulary.token_bytes(t) == bytes([byte]))):
                break
        words = (len(vocabulary) + 31) // 32
        row, walked = np.zeros(words, dtype=np.int32), np.zeros(words, dtype=np.int32)
        matcher.fill_bitmask(row)
        matcher.walk_bitmask(walked)
        assert (row == walked).all(), text


# ---- beside the other features --------------------------------------------------------------------------------------


def test_captures_follow_the_readings_that_are_left():
    grammar = Grammar.from_lark(
        """
        start: (text | tool)*
        tool[commit, capture]: "<tool>" name "</tool>"
        name[capture]: /[a-z]+/
        text[capture]: /(?s:.+)/
        """
    )
    assert read(grammar, "hi <tool>ab</tool>!").captures() == [
        ("text", b"hi "),
        ("tool", b"<tool>ab</tool>"),
        ("name", b"ab"),
        ("text", b"!"),
    ]
    assert read(grammar, "hi <tool>ab").captures() == [("text", b"hi ")]
    assert read(grammar, "hi <tool").captures() == [("text", b"hi <tool")]


@pytest.mark.parametrize("seed", range(60))
def test_captures_are_those_of_a_reading_that_is_left(seed):
    given = random_grammar(random.Random(seed))
    source = lark_text(given).replace("[commit]", "[commit, capture]")
    try:
        grammar = Grammar.from_lark(source)
    except GrammarError:
        return
    twin = CommitTwin(given)
    for text in texts(3):
        cuts = [cut for cut in twin.survivors(text) if twin.is_complete(cut)]
        if cuts:
            found = read(grammar, text).captures()
            heads = [{text[begin:end] for begin, end, name in cut if name in given.heads} for cut in cuts]
            # Every captured rule begins with a head of a reading that is left; a reading without any shows none.
            assert bool(found) <= any(heads)
            begins = set().union(*heads)
            assert all(any(got.decode().startswith(head) for head in begins) for _, got in found)
            if all(heads):
                assert found


def test_lazy_suffix_and_stop_commit_with_their_whole_text():
    for attribute in ('suffix="</a>"', 'stop="</a>"', "lazy"):
        body = '"<a>" /(?s:.*)/' + (' "</a>"' if attribute == "lazy" else "")
        grammar = Grammar.from_lark(f"start: (TEXT | note)*\nnote[commit, {attribute}]: {body}\nTEXT: /[^!]+/")
        assert not grammar.warnings
        assert is_sentence(grammar, "x<a>y</a>z<a>!</a>")
        assert is_sentence(grammar, "x<a>y")  # not yet a text of the rule
        assert not is_sentence(grammar, "x<a>y</a>!")


def test_max_tokens_of_a_rule_beside():
    grammar = Grammar.from_lark(
        """
        start: thought? (TEXT | tool)*
        thought[suffix="</think>", max_tokens=2]: /[^!]*/
        tool[commit]: "<tool>" /[a-z]/
        TEXT: /[^<]+/ | "<"
        """
    )
    matcher = Matcher(grammar, BYTES)
    assert all(matcher.accept(byte) for byte in b"</think><tool>a")
    assert Matcher(grammar, BYTES).validate(b"</think><tool>1") == 14
    vocabulary = Vocabulary.from_tokens([b"a", b"b", b"</think>", b"<tool>", b"1", b"!", b"</s>"], eos_token_id=6)
    counted = Grammar.from_lark(
        """
        start: word (TEXT | tool)*
        word[max_tokens=2]: /[ab]+/
        tool[commit]: "<tool>" /[a-z]/
        TEXT: /[^ab]/
        """
    )
    assert Matcher(counted, vocabulary).validate([0, 1, 4, 3, 0, 6]) == 6
    assert Matcher(counted, vocabulary).validate([0, 1, 0]) == 2
    assert Matcher(counted, vocabulary).validate([0, 1, 3, 4]) == 3


def test_a_budget_counts_on_while_the_rule_may_begin():
    """Free text in which a tool may begin at every place, and which has a budget."""
    vocabulary = Vocabulary.from_tokens([b"a", b"<", b"t", b"!", b"</s>"], eos_token_id=4)
    grammar = Grammar.from_lark('start: text (tool | "!")*\ntext[max_tokens=3]: /[a<t]+/\ntool[commit]: "<t" "a"')
    assert Matcher(grammar, vocabulary).validate([0, 0, 0, 0]) == 3
    assert Matcher(grammar, vocabulary).validate([0, 0, 0, 1, 2, 0, 4]) == 7
    assert Matcher(grammar, vocabulary).validate([0, 1, 2, 2]) == 3
    assert Matcher(grammar, vocabulary).validate([0, 1, 0, 0]) == 3
    assert Matcher(grammar, vocabulary).validate([0, 1, 0, 3, 4]) == 5


def test_temperature_forced_bytes_and_validate():
    grammar = Grammar.from_lark(
        """
        start: (TEXT | tool)*
        tool[commit]: "<tool>" ("alpha" | "beta") name "</tool>"
        name[temperature=0.3]: /[0-9]/
        TEXT: /(?s:.+)/
        """
    )
    assert read(grammar, "x").forced_bytes() == b""
    assert read(grammar, "x<tool").forced_bytes() == b""
    assert read(grammar, "x<tool>a").forced_bytes() == b"lpha"
    matcher = read(grammar, "x<tool>alpha")
    assert matcher.temperature() == 0.3
    assert matcher.validate(b"5</tool>free") == 12
    assert matcher.validate(b"x") == 0


def test_explanations_name_the_rules_that_are_left():
    matcher = read(Grammar.from_lark(TAG), "hi <tool>")
    explanation = matcher.explain("1x")
    assert "NAME" in str(explanation)
    assert "TEXT" not in str(explanation)


def test_pickles_forks_and_rollback():
    grammar = pickle.loads(pickle.dumps(Grammar.from_lark(TAG)))
    matcher = read(grammar, "a<tool")
    fork = matcher.fork()
    assert fork.accept(ord(">"))
    assert not fork.accept(ord("1"))
    assert matcher.accept(ord("1"))
    fork.rollback(1)
    assert fork.accept(ord("!"))
    again = pickle.loads(pickle.dumps(fork))
    assert allowed(again) == allowed(fork)


def test_what_was_learned_may_be_forgotten():
    grammar = Grammar.from_lark(TAG)
    matcher = read(grammar, "some <tool")
    before = allowed(matcher)
    forget_now(grammar.engine, keep=1)
    assert allowed(matcher) == before
    assert matcher.accept(ord(">"))
    assert allowed(matcher) == set(range(ord("a"), ord("z") + 1))


# ---- what is refused ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("start: a\na[commit=3]: 'x'".replace("'", '"'), "takes no value"),
        ('start: a\na[commit]: b\nb: "x"', "all begin with a terminal"),
        ('start: a\na[commit]: "x" | ', "all begin with a terminal"),
        ('start: a\na[commit]: "x"? "y"', "all begin with a terminal"),
        ('start: a\na[commit]: <|x|> "y"', "begins with a special token"),
        ('start: a\na[commit]: "x" <[5-7]>', "a set of token ids"),
        ("start: a\na[commit]: /x*/", "must not match the empty text"),
        ('start: a\na[commit]: /x+/ "y"', "begin with a shorter one"),
        ('start: a | b\na[commit]: "x"\nb[commit]: "xy"', "begins with one with which `a` commits"),
        ('start: a B\na[commit]: "x"\nB: /if\\b/', "demands something of the text after it"),
        ('start: a p::0\na[commit]: "x"\np::_: "y" %if eq(_, 0)', "a rule with a value"),
        ('start: a\na[commit, max_tokens=3]: "x"', "`max_tokens` and `commit`"),
        ('start: a\na[lazy]: b "y"\nb[commit]: "x"', "cannot be in a rule that is part of a terminal"),
        ('start: a | "aab"\na[commit]: "aa" start', "without a sentence"),
        ('start: (TEXT a "x")+\na[commit]: "x" /[a-z]/\nTEXT: /.*/', "without a sentence"),
        ('start: (TEXT a %json {"const": "x"})+\na[commit]: "x" /[a-z]/\nTEXT: /.+/', "without a sentence"),
        ('start: (TEXT a "<" "x")+\na[commit]: "<x" /[a-z]/\nTEXT: /.*/', "without a sentence"),
    ],
)
def test_refused(source, message):
    with pytest.raises(GrammarError, match=message) as caught:
        Grammar.from_lark(source)
    assert caught.value.line is not None
    assert caught.value.hint


def test_what_is_refused_would_be_a_dead_end():
    """The grammar of the module's documentation: every sentence needs `aab`, in which the rule always matches."""
    rules = {"start": [("tool",), ("LAST",)], "tool": [("HEAD", "start")]}
    twin = CommitTwin(commit_twin.Grammar(rules, {"HEAD": "aa", "LAST": "aab"}, frozenset({"HEAD"}), frozenset()))
    assert not any(twin.is_sentence(text) for text in texts(6))


def test_what_closes_a_tag_may_be_what_opens_it():
    grammar = Grammar.from_lark('start: (TEXT | code)*\ncode[commit]: "```" /[a-z]*/ "```"\nTEXT: /[^!]+/')
    assert is_sentence(grammar, "x```abc```y```d```")
    assert not is_sentence(grammar, "x```abc")
    assert not is_sentence(grammar, "x```1```")


def test_with_one_head_in_a_sentence_anything_may_follow():
    grammar = Grammar.from_lark('start: TEXT a "x<"\na[commit]: "x" /[a-z]/\nTEXT: /.+/')
    assert is_sentence(grammar, "-xax<")
    assert not is_sentence(grammar, "-x1x<")


def test_json_after_a_rule_that_commits():
    grammar = Grammar.from_lark(
        """
        start: TEXT? think %json {"type": "object", "required": ["x"]}
        think[commit]: "<think>" THOUGHT end
        end[commit]: "</think>"
        TEXT: /(?s:.+)/
        THOUGHT: /(?s:.+)/
        """
    )
    assert is_sentence(grammar, 'x<think>y{</think>{"x": "</think>"}')
    assert not is_sentence(grammar, 'x<think>y{</think>z</think>{"x": "</think>"}')


def test_a_hint_in_the_error_of_unknown_attributes():
    with pytest.raises(GrammarError) as caught:
        Grammar.from_lark('start[comit]: "x"')
    assert "commit" in caught.value.hint
