"""Find the texts that a Lark grammar imports, and keep them so that the grammar can be read again without files.

`%import a.b.X` means the text `a/b.lark`; with a dot in front, it is relative to the importing text. As in Lark, the
text is looked for in the import paths, then, if it is relative, beside the importing file, then among the files that
come with Lark. Apart from those, no file is read unless the caller has named a path, because grammar texts may come
from anybody. A grammar keeps the texts, and which import found which text. So it can be pickled, and read again where
the files are not there.

Lark's own files (`common`, `unicode`, `python`, `lark`) are read from the installed package `lark`, without importing
it. A file is cut into definitions when something is first imported from it. A definition is parsed at its first use,
because `common` has some forty and a grammar uses two or three. Both are kept for the process.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from ...earley._meter import outside
from ...earley.limits import DEFAULT, Limits
from ..errors import GrammarError, too_long
from .parse import parse, parse_library
from .tree import Definition, Import, ParsedGrammar

_GRAMMAR_NAME = re.compile(r"@([\w-]+)")

MAX_CHAIN = 100
"""The most texts of a chain in which each imports the next. They are read recursively. Beyond it, GrammarLimitError is
raised."""

EXTENSION = ".lark"

Loader = Callable[[str], "str | None"] | Mapping[str, str]
"""Maps the dotted name of a module to its text. If there is none, the result is None or a KeyError."""


class GivenGrammar(Protocol):
    """A `Grammar` that the caller gives for `@name`."""

    kind: str
    start: str
    _kept: Kept | None
    _schema: Any

    @property
    def source(self) -> str: ...

    @property
    def options(self) -> str: ...

    @property
    def fingerprint(self) -> str: ...

    def _within(self, embedded: Any, shown: str, origin: Any, limits: Limits) -> int: ...


class Options(NamedTuple):
    """The options of `Grammar.from_lark`, without the start rule. The first three only help to find texts."""

    import_paths: tuple[Any, ...] = ()
    loader: Loader | None = None
    source_path: str | None = None
    declared: tuple[tuple[str, str], ...] = ()
    grammars: tuple[tuple[str, str | GivenGrammar], ...] = ()
    limits: Limits = DEFAULT
    posix_classes: bool = False


NO_OPTIONS = Options()


class Imported(NamedTuple):
    """An imported text as a grammar keeps it. `library` is its name if it is one of Lark's own files, otherwise ""."""

    name: str
    text: str
    library: str


class Kept(NamedTuple):
    """What a grammar was made from beside its text: enough to read it again without files.

    Attributes:
        declared: the meanings of declared terminals.
        texts: the imported texts. In `links` they count from 1, and 0 is the grammar itself.
        links: (importing text, module as written, imported text) for each import.
        grammars: the texts and grammars that the caller gave for `@name`.
        posix_classes: whether `[[:alpha:]]` in regexps is a class.
    """

    declared: tuple[tuple[str, str], ...] = ()
    texts: tuple[Imported, ...] = ()
    links: tuple[tuple[int, str, int], ...] = ()
    grammars: tuple[tuple[str, str | GivenGrammar], ...] = ()
    posix_classes: bool = False

    def plain(self) -> tuple[Any, ...]:
        """Return the same in plain tuples for pickles, which then do not depend on the name of this module."""
        return self.declared, tuple([tuple(text) for text in self.texts]), self.links, self.grammars, *self._syntax()

    def _syntax(self) -> list[str]:
        return ["posix_classes"] if self.posix_classes else []

    @classmethod
    def from_plain(cls, plain: tuple[Any, ...]) -> Kept:
        """Return what `plain` has made tuples of."""
        declared, texts, links, grammars, *syntax = plain
        return cls(declared, tuple([Imported(*text) for text in texts]), links, grammars, bool(syntax))

    def parts(self) -> list[str]:
        """Return the parts of a fingerprint. The places where texts were found are not among them."""
        parts = self._syntax() + [part for pair in sorted(self.declared) for part in pair]
        parts += [imported.text for imported in self.texts]
        for name, given in sorted(self.grammars):
            parts += ["@" + name, given if isinstance(given, str) else given.fingerprint]
        return parts + [f"{importer} {module} {found}" for importer, module, found in self.links]


def options_of(
    import_paths: Iterable[Any], loader: Any, source_path: Any, declared: Any, grammars: Any = None
) -> Options:
    """Check the arguments of `Grammar.from_lark` and return them as options."""
    if isinstance(import_paths, (str, bytes, os.PathLike)):
        raise TypeError("import_paths must be a list of folders, not a single folder")
    paths = tuple(import_paths)
    for path in paths:
        if not callable(path) and not isinstance(path, (str, os.PathLike)):
            raise TypeError(f"import_paths must hold folders or loaders, not {type(path).__name__}")
    if loader is not None and not callable(loader) and not isinstance(loader, Mapping):
        raise TypeError(f"loader must be a function or a mapping, not {type(loader).__name__}")
    names = dict(declared or {})
    for name, expression in names.items():
        if not isinstance(name, str) or not isinstance(expression, str):
            raise TypeError("declared must map names to expressions in Lark's syntax, both str")
    file = None if source_path is None else os.fspath(source_path)
    given = dict(grammars or {})
    for name, grammar in given.items():
        if not isinstance(name, str) or not (isinstance(grammar, str) or hasattr(grammar, "engine")):
            raise TypeError("grammars must map names to grammars, or to texts in Lark's syntax")
    return Options(paths, loader, file, tuple(names.items()), tuple(given.items()))


class Module:
    """One text: its name in messages, its parsed content, and the places that its relative imports start from."""

    __slots__ = ("base", "index", "library", "name", "package", "parsed")

    def __init__(
        self,
        index: int,
        name: str | None,
        parsed: ParsedGrammar | None,
        library: Library | None = None,
        base: Any = None,
        package: tuple[str, ...] = (),
    ) -> None:
        self.index = index
        self.name = name
        self.parsed = parsed  # None for a library
        self.library = library
        self.base = base  # the folder of relative imports, or what a loader function of Lark's uses in its place
        self.package = package  # the dotted name, as a tuple, from which `Options.loader` resolves relative imports


class Modules:
    """Finds the texts that one grammar imports. Each is read once."""

    def __init__(self, options: Options, kept: Kept | None = None) -> None:
        """If `kept` is given, texts come from it, and nothing is looked for."""
        self.options = options
        self.limits = options.limits
        self.kept = kept
        self.texts: list[Imported] = []
        self.links: dict[tuple[int, str], Module] = {}
        self.declared = dict(options.declared)  # the caller's meanings of declared terminals
        self.unbound = set(self.declared)  # names in `declared` that no text has declared yet
        self.unused = {name for name, _ in options.grammars}  # names in `grammars` that no text has used yet
        self.n_scopes = 0
        self._known: dict[Any, Module] = {}  # by the place where it was found
        self._size = 0  # characters in all texts

    @classmethod
    def restored(cls, kept: Kept | None, limits: Limits) -> Modules:
        """Return the modules of a grammar that is read again: every import means the text that it meant before."""
        kept = kept or Kept()
        options = Options(
            declared=kept.declared, grammars=kept.grammars, limits=limits, posix_classes=kept.posix_classes
        )
        return cls(options, kept)

    def parse(self, text: str, name: str | None = None) -> ParsedGrammar:
        """Parse one of the texts of the grammar. Errors give its `name`."""
        self._size += len(text)
        if self._size > self.limits.source_characters:
            raise too_long(self._size, self.limits)
        parsed = parse(text, name, self.limits)
        if self.unused:
            self._note_used(parsed)
        return parsed

    def _note_used(self, parsed: ParsedGrammar) -> None:
        """Note which of the caller's grammars a text uses, directly, in its blocks, or through grammars given as
        text."""
        given = dict(self.options.grammars)
        texts = [lexeme for lexeme in parsed.lexemes if lexeme[:1] == "@" or lexeme[:5] == "%lark"]
        for text in texts:  # grows while it is read
            for name in _GRAMMAR_NAME.findall(text):
                if name in self.unused:
                    self.unused.discard(name)
                    grammar = given[name]
                    if isinstance(grammar, str):
                        texts.append(grammar)

    def top(self, parsed: ParsedGrammar) -> Module:
        """Return the module of the grammar itself."""
        path = self.options.source_path
        module = Module(0, path, parsed, base=None if path is None else os.path.dirname(path))
        if path is not None:
            self._known[os.path.realpath(path)] = module
        return module

    def find(self, importer: Module, node: Import) -> Module:
        """Return the module that an import in `importer` means. Raises ModuleError."""
        key = (importer.index, node.module)
        known = self.links.get(key)
        if known is None:
            known = self._from_kept(*key) if self.kept is not None else self._found(importer, node.module)
            self.links[key] = known
        return known

    def to_keep(self) -> Kept | None:
        """Return what the grammar needs, beside its text, to be read again; None if it needs nothing else."""
        options = self.options
        if not self.links and not options.declared and not options.grammars and not options.posix_classes:
            return None
        links = sorted((index, module, found.index) for (index, module), found in self.links.items())
        return Kept(options.declared, tuple(self.texts), tuple(links), options.grammars, options.posix_classes)

    def _from_kept(self, index: int, name: str) -> Module:
        assert self.kept is not None
        for importer, module, found in self.kept.links:
            if (importer, module) == (index, name):
                return self._add(found, *self.kept.texts[found - 1])
        raise ModuleError(f"the grammar has not kept the text of `{name}`")

    def _found(self, importer: Module, name: str) -> Module:
        relative = name[0] == "."
        path = tuple(name.lstrip(".").split("."))
        found = self._from_loader(importer, path, relative)
        if found is None:
            found = self._from_paths(importer, path, relative)
        if found is None and (not relative or importer.library is not None) and len(path) == 1:
            of_lark = library(path[0])
            if of_lark is not None:
                key = ("library", path[0])
                found = self._known.get(key) or self._add(key, path[0], of_lark.text, path[0])
        if found is None:
            raise self._not_found(importer, name, path, relative)
        return found

    def _from_loader(self, importer: Module, path: tuple[str, ...], relative: bool) -> Module | None:
        loader = self.options.loader
        if loader is None:
            return None
        if relative:
            path = importer.package + path
        dotted = ".".join(path)
        key = ("loader", dotted)
        if key in self._known:
            return self._known[key]
        try:
            text = outside(loader if callable(loader) else loader.__getitem__, dotted)
        except KeyError:
            return None
        if text is None:
            return None
        return self._add(key, dotted, text, "", package=path[:-1])

    def _from_paths(self, importer: Module, path: tuple[str, ...], relative: bool) -> Module | None:
        file = os.path.join(*path) + EXTENSION
        sources = [*self.options.import_paths]
        if relative and importer.base is not None:
            sources.append(importer.base)
        for source in sources:
            try:
                if callable(source):
                    joined, text = outside(source, importer.base if relative else None, file)
                    base = _folder(joined)
                    key = str(joined)
                elif isinstance(source, (str, os.PathLike)):
                    joined = base = None
                    joined = os.path.join(source, file)
                    base = os.path.dirname(joined)
                    key = os.path.realpath(joined)
                    text = None if key in self._known else outside(_read, joined, self.limits)
                else:  # a folder in a package, which only the loader function of that package can open
                    continue
            except OSError:
                continue
            if key in self._known:
                return self._known[key]
            return self._add(key, str(joined), text, "", base=base, package=path[:-1])
        return None

    def _add(
        self, key: Any, name: str, text: object, of_lark: str, base: Any = None, package: tuple[str, ...] = ()
    ) -> Module:
        """Parse a text that was found, and return its module."""
        if key in self._known:
            return self._known[key]
        if not isinstance(text, str):
            raise TypeError(f"the text of module {name!r} must be a str, not {type(text).__name__}")
        self.texts.append(Imported(name, text, of_lark))
        found = library(of_lark) if of_lark else None
        if found is not None and found.text == text:
            module = Module(len(self.texts), name, None, found)
        else:
            module = Module(len(self.texts), name, self.parse(text, name), None, base, package)
        self._known[key] = module
        return module

    def _not_found(self, importer: Module, name: str, path: tuple[str, ...], relative: bool) -> ModuleError:
        options = self.options
        file = os.path.join(*path) + EXTENSION
        if path[0] in LIBRARIES and len(path) == 1 and not relative:
            return ModuleError("the package `lark`, which contains the libraries, is not installed", "pip install lark")
        if options.import_paths or options.loader is not None or (relative and importer.base is not None):
            return ModuleError(f"there is no `{file}` to import from")
        hint = "to import a text of your own, give import_paths=, source_path= or loader="
        if relative:
            message = f"`{file}` cannot be imported: reading files is not allowed"
        else:
            message = f"there is no library `{name}`"
            hint = f"the libraries are {', '.join(LIBRARIES)}; {hint}"
        return ModuleError(message, hint, "import_paths")


class ModuleError(LookupError):
    """A text cannot be imported. The message says why. `option` is as in GrammarError."""

    def __init__(self, message: str, hint: str | None = None, option: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        self.option = option


def _folder(joined: Any) -> Any:
    """Return the folder of a file that a loader function of Lark's has read: a path, or a package and a path in it."""
    if isinstance(joined, str):
        return os.path.dirname(joined)
    if hasattr(joined, "pkg_name") and hasattr(joined, "path"):
        return type(joined)(joined.pkg_name, os.path.dirname(joined.path))
    return None


def _read(path: str, limits: Limits) -> str:
    with open(path, encoding="utf-8") as file:
        try:
            return file.read(limits.source_characters + 1)
        except UnicodeDecodeError as error:
            raise GrammarError(f"the imported file is not UTF-8: {error.reason}", source=path) from error


LIBRARIES = ("common", "unicode", "python", "lark")

# Definitions begin at the beginning of a line and end where the next one, or a directive, begins.
_HEAD = re.compile(r"^(?:[!?]{0,2}(_?[A-Za-z][_A-Za-z0-9]*)[^:\n]*:|%)", re.MULTILINE)

_libraries: dict[str, Library] = {}


class Library:
    """One of Lark's files. A definition is parsed at its first use; its nodes have no places."""

    def __init__(self, name: str, text: str) -> None:
        self.name = name
        self.text = text
        heads = list(_HEAD.finditer(text))
        ends = [head.start() for head in heads[1:]] + [len(text)]
        pieces = [(head[1], text[head.start() : end]) for head, end in zip(heads, ends, strict=True)]
        self.texts = {name: piece for name, piece in pieces if name}
        directives = "".join([piece for name, piece in pieces if not name])
        parsed = parse_library(directives) if directives else None
        self.imports: list[Import] = [] if parsed is None else parsed.imports
        self._definitions: dict[str, Definition] = {}
        if parsed is not None:
            self._definitions.update({declared.name: declared for declared in parsed.definitions})

    def names(self) -> list[str]:
        return [*self.texts, *self._definitions]

    def definition(self, name: str) -> Definition | None:
        """Return the definition of `name`; None if the library does not define it itself."""
        known = self._definitions.get(name)
        if known is None and name in self.texts:
            (known,) = parse_library(self.texts[name]).definitions
            known = self._definitions.setdefault(name, known)  # another thread may have been faster
        return known


def library(name: str) -> Library | None:
    """Return one of the libraries; None if there is none of that name, or if the package `lark` is not installed."""
    known = _libraries.get(name)
    if known is None and name in LIBRARIES:
        spec = find_spec("lark")
        if spec is None or not spec.submodule_search_locations or spec.loader is None:
            return None
        path = Path(spec.submodule_search_locations[0]) / "grammars" / f"{name}.lark"
        text = spec.loader.get_data(str(path)).decode()  # type: ignore[attr-defined]
        known = _libraries[name] = Library(name, text)
    return known
