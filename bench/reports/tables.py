"""Write the report of a record, in Markdown, with its tables."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from ..harness.checks import MAX_ASKED
from ..harness.figures import Record, ratio, write_json
from ..harness.pool import BREADTHS, N_FIRST
from ..ways import NAMES
from . import plots
from .targets import PEER, fraction, kept_bytes, megabytes, targets

MASK_FIGURES = ("mean", "median", "p99", "p99.9", "max")
PHASES = {
    "cold": f"Cold: the first {N_FIRST} masks of the first request of a process",
    "whole": "Whole: all masks of the first request of a process",
    "second": f"Second request: the first {N_FIRST} masks with another grammar of the family",
    "warm": "Warm: the first text again, with a new matcher of the same grammar",
}
CHECKS = {
    "positions": "masks",
    "text_refused": "masks that refuse the next token of the text",
    "with_walk": "compared with the merged walk",
    "equal_walk": "equal to the merged walk's, bit by bit",
    "with_llguidance": "compared with llguidance",
    "equal_llguidance": "equal to llguidance's, bit by bit",
    "with_xgrammar": "compared with xgrammar",
    "equal_xgrammar": "equal to xgrammar's, bit by bit",
    "unchecked": "compared with no peer",
    "greedy_tokens": "tokens that llguidance alone refuses (greedy lexing)",
    "too_wide_tokens": "tokens that llguidance alone allows",
    "not_asked_tokens": "tokens of these two rows that xgrammar was not asked about",
    "xgrammar_alone_tokens": "tokens about which xgrammar alone differs",
    "undecided_tokens": "tokens about which one peer differs, and the other is missing",
    "wrong_tokens": "tokens about which both peers differ",
}


def write(record: Record, folder: Path, name: str) -> str:
    """Write `name`.json, .md and .png into the folder, and return the Markdown."""
    folder.mkdir(parents=True, exist_ok=True)
    plot = f"{name}.png" if any("engines" in case for case in record["cases"]) else None
    if plot:
        plots.draw(record["cases"], folder / plot)
    write_json(record, folder / f"{name}.json")
    text = markdown(record, plot)
    (folder / f"{name}.md").write_text(text, encoding="utf-8")
    return text


def markdown(record: Record, plot: str | None) -> str:
    where = record["environment"]
    versions = ", ".join(f"{name} {version}" for name, version in where["versions"].items())
    parts = [
        "# Mask latency",
        f"{where['date']}, revision {where['revision']}. {where['processor']}, {where['cores']} cores, "
        f"{where['system']}, Python {where['python']}; {versions}. Load average at the start "
        f"{where['load'][0]}, at the end {record['load_at_end'][0]}.",
        "Times are in microseconds, of one thread on one core. All engines fill their mask at a position before any "
        "accepts the next token. The times of earleymask and llguidance are pooled over fresh processes; xgrammar is "
        "measured in one more. A stride of n means that the engine filled every n-th mask only; it accepts every "
        "token. *First mask*: from grammar text to the first filled mask, with tokenizer data ready and without cached "
        "grammars; of a warm text, from the compiled grammar. "
        f"`docs/performance.md` describes the method. Written by `{record['command']}`.",
    ]
    if plot:
        parts.append(f"![Cumulative distribution of mask times]({plot})")
    for name in dict.fromkeys(case["vocabulary"]["name"] for case in record["cases"]):
        cases = [case for case in record["cases"] if case["vocabulary"]["name"] == name]
        parts += [f"## {name}: {cases[0]['vocabulary']['size']:,} ids", *_vocabulary(record, name, cases)]
    if "long_output" in record:
        parts += [f"## Long outputs ({record['long_output']['vocabulary']})", _long(record["long_output"]["texts"])]
    if "scaling" in record:
        parts += ["## Vocabularies from 32 to 256 thousand ids", _scaling(record["scaling"])]
    parts.append(
        "llguidance lexes greedily, so it refuses some tokens that these grammars allow: in SQL, `ORDER` may also be "
        "`OR` and a name `DER`, and `orders` the end of a condition and `OR ders`. It also ends a text after its last "
        "lexeme, without the white space that may follow. xgrammar has no lexer, so it decides about the tokens that "
        f"differ: about each, or at a position with more than {MAX_ASKED:,} of them about a part (`--thorough`: all)."
    )
    return "\n\n".join(parts) + "\n"


def _vocabulary(record: Record, name: str, cases: Sequence[Record]) -> Iterable[str]:
    yield f"Copying one bitmask under the same timer takes {cases[0]['vocabulary']['floor_us']:.2f} µs."
    met = reached(record, name)
    if met:
        yield "### Targets (ratios are to llguidance)"
        yield met
    if "prepare" in record:
        yield "### What `prepare` costs, and the first masks with and without it"
        yield prepared(record["prepare"][name])
    followed = [case for case in cases if "engines" in case]
    if followed:
        for phase, title in PHASES.items():
            yield f"### {title}"
            yield _phase(followed, phase)
        yield from _give_ups(followed)
        aside = ", ".join(f"{case['kind']} {case['interruptions']:,}" for case in followed)
        yield f"Involuntary context switches of the pooled processes, which show in p99.9 and max: {aside}."
        yield "### Whole texts: median by the number of allowed tokens, µs (masks)"
        yield _breadths(followed)
    profiled = [case for case in cases if "profile" in case]
    if profiled:
        yield "### Ways in which masks were found: in the first request of a process, and in the same text again"
        yield profile(profiled)
    recurring = [case for case in cases if "recurring" in case]
    if recurring:
        yield f"### Masks at a recurring position, µs of one in a batch of {recurring[0]['recurring']['batch']:,}"
        yield _recurring(recurring)
    if followed:
        yield "### Counters of earleymask in one process, after the first request (and after the warm one)"
        yield _counters(followed)
        yield "### Memory and time for preparing the engines"
        yield _ready(followed)
        yield "### Checks of earleymask's masks"
        yield table(
            ("", *(case["kind"] for case in followed)),
            [(text, *(f"{case['checks'][key]:,}" for case in followed)) for key, text in CHECKS.items()],
        )


def table(header: Sequence[str], rows: Iterable[Sequence[str]], left: int = 1) -> str:
    rule = ["---" if index < left else "---:" for index in range(len(header))]
    return "\n".join("| " + " | ".join(row) + " |" for row in (header, rule, *rows))


def us(value: float | None) -> str:
    if value is None:
        return ""
    return f"{value:,.0f}" if value >= 100 else f"{value:.1f}" if value >= 10 else f"{value:.2f}"


def _phase(cases: Sequence[Record], phase: str) -> str:
    header = ("text", "engine", "processes", "stride", "masks", *MASK_FIGURES, "first mask", "its max", "accept median")
    rows: list[Sequence[str]] = []
    for case in cases:
        kind = case["second_kind"] if phase == "second" else case["kind"]
        text = f"{kind}, {case['text']['tokens']:,} tokens" if phase in ("whole", "warm") else kind
        phases = {name: engine["phases"][phase] for name, engine in case["engines"].items()}
        for name, figures in phases.items():
            n = str(case["engines"][name]["processes"])
            if "refused" in figures:
                rows.append((text, f"{name} cannot read the grammar: {figures['refused']}", *[""] * (len(header) - 2)))
                continue
            mask, first, accept = figures["mask_us"], figures["first_mask_us"], figures["accept_us"]
            numbers = [us(mask.get(figure)) for figure in MASK_FIGURES]
            numbers += [us(first.get("median")), us(first.get("max")), us(accept.get("median"))]
            rows.append((text, name, n, str(figures["stride"]), f"{mask['n']:,}", *numbers))
        ours, theirs = phases.get("earleymask"), phases.get(PEER)
        if ours and theirs and "mask_us" in ours and "mask_us" in theirs:
            pairs = [("mask_us", figure) for figure in MASK_FIGURES]
            pairs += [("first_mask_us", "median"), ("first_mask_us", "max"), ("accept_us", "median")]
            shares = [ratio(ours[what], theirs[what], figure) for what, figure in pairs]
            cells = ["" if share is None else fraction(share) for share in shares]
            rows.append((text, f"*earleymask to {PEER}*", "", "", "", *cells))
    return table(header, rows, left=2)


def _breadths(cases: Sequence[Record]) -> str:
    def cell(figures: Record) -> str:
        return f"{us(figures['median'])} ({figures['n']:,})" if figures["n"] else ""

    rows = [
        (case["kind"], name, *(cell(engine["phases"]["whole"]["mask_us_by_tokens_allowed"][key]) for key in BREADTHS))
        for case in cases
        for name, engine in case["engines"].items()
        if "mask_us_by_tokens_allowed" in engine["phases"]["whole"]
    ]
    return table(("text", "engine", *BREADTHS), rows, left=2)


def _give_ups(cases: Sequence[Record]) -> Iterable[str]:
    lines = []
    for case in cases:
        for name, engine in case["engines"].items():
            for phase, request in (("whole", case["kind"]), ("second", case["second_kind"])):
                figures = engine["phases"][phase]
                if figures.get("gave_up_at") is not None:
                    lines.append(
                        f"- {name} gave up on {request} at token {figures['gave_up_at']:,}: {figures['reason']}"
                    )
    yield "\n".join(lines) if lines else "Each engine followed each text to its end."


def profile(cases: Sequence[Record]) -> str:
    """Return the table of masks and times by way. A share is that of the time of all masks of a text."""
    rows = []
    for case in cases:
        for phase in ("cold", "warm"):
            ways = case["profile"][phase]
            whole = sum(figures["sum"] for figures in ways.values())
            for name, figures in ways.items():
                share = f"{figures['sum'] / whole:.0%}"
                times = (us(figures[figure]) for figure in ("median", "mean", "max"))
                rows.append((case["kind"], phase, NAMES.get(name, name), f"{figures['n']:,}", *times, share))
    return table(("text", "request", "way", "masks", "median", "mean", "max", "share of time"), rows, left=3)


def reached(record: Record, vocabulary: str) -> str:
    """Return the table of targets; empty if the record has no figure for any."""
    rows = [(t.figure, t.text, t.target, t.reached, t.verdict) for t in targets(record, vocabulary)]
    return table(("figure", "text", "target", "reached", "met"), rows, left=2) if rows else ""


def prepared(figures: Record) -> str:
    """Return the tables of what `prepare` costs, and of the first masks of a process with and without it."""
    ways = {"built": "built", "file": "from the file", "none": "not prepared"}
    costs = [
        (ways[way], *(f"{figures[way][call]:.1f} ms" for call in ("first_ms", "again_ms")), kept)
        for way in ("built", "file")
        for kept in (megabytes(figures[way]["resident_bytes"]),)
    ]
    rows = [
        (kind, ways[way], str(masks["processes"]), *(us(masks["mask_us"][figure]) for figure in ("mean", "max")), first)
        for kind, by_way in figures["first_masks"].items()
        for way, masks in by_way.items()
        for first in (us(masks["first_mask_us"]["median"]),)
    ]
    return (
        f"{figures['parts']:,} parts; the file has {megabytes(figures['file_bytes'])}. Medians. The *first call* of a "
        "process also imports readers of grammars, reads the list of terminals and computes the vocabulary's "
        "fingerprint; a *later call* only prepares everything again.\n\n"
        + table(("prepared", "first call", "later call", "the process grows by"), costs)
        + f"\n\nThe first {N_FIRST} masks of a process that has read no grammar before, µs:\n\n"
        + table(("text", "prepared", "processes", "mean", "max", "grammar to first mask, median"), rows, left=2)
    )


def _recurring(cases: Sequence[Record]) -> str:
    rows = []
    for case in cases:
        figures = case["recurring"]
        mask = figures["mask_us"]
        numbers = [
            mask["median"],
            mask["p90"],
            mask["max"],
            figures["copy_us"],
            figures["call_us"],
            figures["bound_us"],
        ]
        cells = [f"{value:.3f}" for value in numbers]
        rows.append((case["kind"], *cells, f"{figures['within_bound']} of {mask['n']}"))
    header = (
        "text",
        "mask, median",
        "p90",
        "max",
        "copy of a bitmask",
        "copy of a word",
        "bound",
        "positions within the bound",
    )
    return table(header, rows)


def _counters(cases: Sequence[Record]) -> str:
    """Return the counters of `Vocabulary.stats()`, `Grammar.stats()` and `Matcher.stats()`, a column for each text."""
    rows: list[tuple[str, ...]] = []
    for owner in ("matcher", "grammar", "vocabulary"):
        seen: list[tuple[Mapping[str, int], Mapping[str, int]]] = [
            (case["counters"][owner], case["counters_warm"][owner]) for case in cases
        ]
        for name in dict.fromkeys(name for cold, warm in seen for name in (*cold, *warm)):
            cells = [f"{cold.get(name, 0):,} ({warm.get(name, 0):,})" for cold, warm in seen]
            rows.append((f"{owner}: {name.replace('_', ' ')}", *cells))
    return table(("counter", *(case["kind"] for case in cases)), rows)


def _ready(cases: Sequence[Record]) -> str:
    rows = []
    for case in cases:
        engines = case["engines"]
        cells = [megabytes(case["memory"]["vocabulary"]), f"{case['vocabulary_ms']:,.0f}"]
        for name in ("earleymask", PEER):
            cells += (
                [megabytes(case["memory"].get(name, 0)), f"{engines[name]['ready_ms']:,.0f}"]
                if name in engines
                else ["", ""]
            )
        rows.append((case["kind"], *cells))
    return table(("text", "vocabulary", "loaded in ms", "earleymask", "ready in ms", PEER, "ready in ms"), rows)


def _long(texts: Mapping[str, Record]) -> str:
    header = (
        "text",
        "tokens",
        "mask median, first tenth",
        "last tenth",
        "p99, first",
        "last",
        "accept median, first",
        "last",
        "memory kept, first",
        "last",
    )
    rows = []
    for kind, figures in texts.items():
        first, last = figures["first_tenth_us"], figures["last_tenth_us"]
        accepts = (figures["accept_first_tenth_us"], figures["accept_last_tenth_us"])
        numbers = [first["median"], last["median"], first["p99"], last["p99"], *(part["median"] for part in accepts)]
        kept = [megabytes(kept_bytes(mark)) for mark in figures["memory"]]
        rows.append((kind, f"{figures['tokens']:,}", *map(us, numbers), *kept[:1], *kept[-1:]))
    return table(header, rows)


def _scaling(texts: Mapping[str, Sequence[Record]]) -> str:
    rows = [
        (
            kind,
            f"{figures['size']:,}",
            us(figures["warm_us"]["median"]),
            us(figures["warm_us"]["mean"]),
            us(figures["first_us"]["median"]),
            us(figures["floor_us"]),
        )
        for kind, sizes in texts.items()
        for figures in sizes
    ]
    return table(("text", "ids", "warm median", "warm mean", "first time, median", "copy of a bitmask"), rows)
