"""Build the Cython extensions; everything else about the package stands in `pyproject.toml`.

The folders `grammar/`, `earley/`, `trie/` and `integration/` are imported as `earleymask.grammar` and so on. setuptools
learns that from `package-dir`. Cython finds a `cimport`ed module by its path alone, so before translating we lay out
the installed shape of the package once more under `build/layout/`, as links into the real folders (copies where links
cannot be made), and translate from there.

This file is the one place for compiler directives and flags. Environment variables:

    EARLEYMASK_FULL=1             the build of the wheels: all of `grammar/` compiled, more optimised; takes minutes
    EARLEYMASK_DEBUG=1            the debug build: every check of Cython and the `check()` invariants of the core are on
    EARLEYMASK_SANITIZE=1         with AddressSanitizer and UBSan (gcc, clang): see `.ci/sanitize`
    EARLEYMASK_COMPILE_GRAMMAR=0  leave `grammar/*.py` as plain Python (for editing it without rebuilding)
    EARLEYMASK_ANNOTATE=1         write Cython's annotated HTML beside the C files under `build/cython-*/`
"""

import gc
import importlib.util
import multiprocessing
import os
import shutil
import sysconfig
from pathlib import Path

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext
from setuptools.command.build_py import build_py

ROOT = Path(__file__).resolve().parent
LAYOUT = ROOT / "build" / "layout"
PACKAGE = "earleymask"
SUBPACKAGES = ("grammar", "earley", "trie", "integration")
# What `re` of the Python that builds means by \d, \s, \w and IGNORECASE: made here, ignored by git, never in an sdist.
UNICODE_DATA = ROOT / "grammar" / "regex" / "_unicode_data.py"


def is_on(variable: str, default: bool) -> bool:
    return os.environ.get(variable, "1" if default else "0").strip().lower() not in ("", "0", "no", "off", "false")


DEBUG = is_on("EARLEYMASK_DEBUG", default=False)
SANITIZE = is_on("EARLEYMASK_SANITIZE", default=False)
COMPILE_GRAMMAR = is_on("EARLEYMASK_COMPILE_GRAMMAR", default=True)
ANNOTATE = is_on("EARLEYMASK_ANNOTATE", default=False)
FULL = is_on("EARLEYMASK_FULL", default=False)
VARIANT = "debug" if DEBUG else "full" if FULL else "release"

# For .pyx files. Negative indexes and division mean the same in both variants (`wraparound`, `cdivision`), so that a
# debug build checks the code that ships; `overflowcheck` stays off because hashes are meant to wrap, and `nonecheck`
# because it takes the GIL at every attribute, which the core's functions run without.
CYTHON_DIRECTIVES = {
    "language_level": 3,
    "cdivision": True,
    "wraparound": False,
    "boundscheck": DEBUG,
    "initializedcheck": DEBUG,
    "overflowcheck": False,
    "auto_pickle": False,
    "emit_code_comments": DEBUG,
}
# For .py files, which must mean what the interpreter means by them: `parts[-1]` is the last part, an annotation is a
# hint. Cython's defaults do, but for annotations. The others save C that no caller needs: functions that `inspect` can
# read, pickling of syntax trees, and the Python source in comments.
PYTHON_DIRECTIVES = {
    "language_level": 3,
    "annotation_typing": False,
    "binding": False,
    "auto_pickle": False,
    "emit_code_comments": DEBUG,
}
# The module of Cython's own functions that all other modules call, in place of a copy in each. Cython also enters it in
# `sys.modules` under the last part of its name, which therefore names the package.
SHARED = f"{PACKAGE}.trie._earleymask_shared"
# `EARLEYMASK_DEBUG` is read by `trie/_build.pxd`. A release leaves `assert` statements out, as `python -O` does.
MACROS = [("EARLEYMASK_DEBUG", "1")] if DEBUG else [("EARLEYMASK_DEBUG", "0"), ("CYTHON_WITHOUT_ASSERTIONS", "1")]
# How much the C compiler optimises. HOT: the modules of the core in which masks and accepts spend their time. WARM: the
# others of the core, and the modules of `grammar/` in which first masks spend the most. COLD: what of the core few
# requests need, and the other modules of `grammar/`, which mostly call the interpreter. gcc 12 needs 1.7 times as long
# for -O2 as for -O1, and half as long for -Og. The flags after -O1 win back most of what masks lose by it, those after
# -Og half of what first masks lose.
HOT_FLAGS = WARM_FLAGS = COLD_FLAGS = ["-O1"] if DEBUG else ["-O3"]
if not (DEBUG or FULL):
    HOT_FLAGS = ["-O2"]
    WARM_FLAGS = ["-O1", "-finline-small-functions", "-findirect-inlining", "-fpartial-inlining", "-fstrict-aliasing"]
    COLD_FLAGS = ["-Og", "-fguess-branch-probability", "-freorder-blocks", "-finline-functions-called-once"]


def full_names(names: dict[str, str]) -> set[str]:
    """Return the full names of modules; `names` has those of each folder, separated by blanks."""
    return {f"{PACKAGE}.{folder}.{name}" for folder, chosen in names.items() for name in chosen.split()}


HOT = full_names(
    {
        "earley": "_apply _automaton _batch _bitmaps _chart _history _lexer _masks _matcher _records _regex _rests"
        " _skeletons _tables _tensors _walk",
        "trie": "_build _memory _quotient _trie",
    }
)
COLD = full_names({"earley": "_budgets _captures _crossing _explain _forget _prepare"})
WARM = full_names(
    {
        "grammar.json_schema": "check shortcuts terms",
        "grammar.lark": "expressions load scan tree",
        "grammar.model": "avoidance compile contexts",
    }
)


def flags(module: str) -> list[str]:
    """Return the optimisation flags for a module."""
    if module in HOT:
        return HOT_FLAGS
    is_cold = module in COLD or (module.startswith(f"{PACKAGE}.grammar.") and module not in WARM)
    return COLD_FLAGS if is_cold else WARM_FLAGS


# Added after the flags of the Python that builds. `-g0`: debug information makes extensions five times as large. `-w`:
# the warnings are about Cython's C, which nobody edits.
UNIX_FLAGS = ["-g", "-fno-omit-frame-pointer", "-w"] if DEBUG else ["-g0", "-fomit-frame-pointer", "-w"]
# The interpreter is not built so: its processes need LD_PRELOAD of the sanitizer's library (see `.ci/sanitize`).
SANITIZERS = ["-fsanitize=address,undefined", "-fno-sanitize-recover=undefined"] if SANITIZE else []
UNIX_FLAGS += SANITIZERS
MSVC_FLAGS = ["/Od", "/Zi"] if DEBUG else ["/O2"]
# Processes that translate and compile.
N_JOBS = min(os.cpu_count() or 1, 8)
# What a build was made with; where it differs from what an earlier one left behind, everything is made anew.
LEVELS = HOT_FLAGS, sorted(HOT), WARM_FLAGS, sorted(WARM), COLD_FLAGS, sorted(COLD)
RECIPE = repr((VARIANT, CYTHON_DIRECTIVES, PYTHON_DIRECTIVES, SHARED, MACROS, LEVELS, UNIX_FLAGS, MSVC_FLAGS))


def extensions() -> list[Extension]:
    """Return one extension for each compiled module, the largest sources first, so that no long one ends alone.

    The modules of `grammar/` run uncompiled just as well. Those with a `.pxd` beside them are worth the time that
    compiling takes: first masks spend their time there. The full build compiles all of them.
    """
    files = [*Path("trie").glob("*.pyx"), *Path("earley").glob("*.pyx")]
    if COMPILE_GRAMMAR:
        kept_plain = ("__init__.py", UNICODE_DATA.name)
        files += [
            path
            for path in Path("grammar").rglob("*.py")
            if path.name not in kept_plain and (FULL or path.with_suffix(".pxd").exists())
        ]
    made = [
        Extension(".".join((PACKAGE, *path.with_suffix("").parts)), [path.as_posix()], define_macros=MACROS)
        for path in sorted(files, key=lambda path: path.stat().st_size, reverse=True)
    ]
    return [*made, Extension(SHARED, [], define_macros=MACROS)]


def make_layout() -> None:
    """Make `build/layout/earleymask/` look like the installed package; what is there already is made anew."""
    shutil.rmtree(LAYOUT, ignore_errors=True)
    (LAYOUT / PACKAGE).mkdir(parents=True)
    for name in SUBPACKAGES:
        place(ROOT / name, LAYOUT / PACKAGE / name)
    for path in (ROOT / PACKAGE).iterdir():
        if path.name != "__pycache__":
            place(path, LAYOUT / PACKAGE / path.name)


def place(source: Path, link: Path) -> None:
    """Link `link` to `source`, or copy where the platform or the file system makes no links."""
    try:
        link.symlink_to(os.path.relpath(source, link.parent), target_is_directory=source.is_dir())
    except OSError:
        if source.is_dir():
            shutil.copytree(source, link, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy2(source, link)


def translate(modules: list[Extension]) -> None:
    """Let Cython write the C files, each variant into a folder of its own, and make them the modules' sources.

    Cython runs inside the layout, so that tracebacks name `earleymask/grammar/grammar.py` and not a path of the machine
    that built it.
    """
    from Cython.Build import cythonize

    make_layout()
    recipe = ROOT / "build" / f"cython-{VARIANT}" / "recipe"
    force = ANNOTATE or not recipe.exists() or recipe.read_text() != RECIPE
    for module in modules:
        module.sources = [f"{PACKAGE}/{source}" for source in module.sources]
    python = [module for module in modules if "".join(module.sources).endswith(".py")]
    core = [module for module in modules if module not in python]
    translated = []
    # Collections took a third of Cython's time and freed next to nothing. A process translates some fifty modules and
    # ends, with half a gigabyte.
    gc.disable()
    os.chdir(LAYOUT)
    try:
        for chosen, directives in ((core, CYTHON_DIRECTIVES), (python, PYTHON_DIRECTIVES)):
            translated += cythonize(
                chosen,
                build_dir=f"../cython-{VARIANT}",
                include_path=["."],
                compiler_directives=directives,
                shared_utility_qualified_name=SHARED,
                annotate=ANNOTATE,
                force=force,
                # Other ways of starting a process would run this file once more in each.
                nthreads=N_JOBS if multiprocessing.get_start_method() == "fork" else 0,
                show_all_warnings=False,
            )
    finally:
        os.chdir(ROOT)
        gc.enable()
    recipe.write_text(RECIPE)
    # Cython answers with new objects; setuptools has noted its own things on ours.
    by_name = {module.name: module for module in translated}
    for module in modules:
        made = by_name[module.name]
        module.language = made.language
        module.sources = [os.path.relpath(LAYOUT / source, ROOT) for source in made.sources]
        module.depends = [os.path.relpath(LAYOUT / source, ROOT) for source in made.depends]


def write_unicode_data() -> None:
    """Collect the Unicode tables of this Python, unless they are there already (see `unicode_tables.py`)."""
    spec = importlib.util.spec_from_file_location("unicode_tables", UNICODE_DATA.with_name("unicode_tables.py"))
    tables = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(tables)
    made_by = f"MADE_FOR = {tables.MADE_FOR!a}\n"
    if not UNICODE_DATA.exists() or made_by not in UNICODE_DATA.read_text():
        UNICODE_DATA.write_text(tables.source())


class BuildModules(build_py):
    """Copy the modules, with the one that is generated."""

    def run(self) -> None:
        write_unicode_data()
        self.remove_stale()
        super().run()

    def remove_stale(self) -> None:
        """Delete modules and stubs of an earlier build that have no source now: a wheel would contain them."""
        built = Path(self.build_lib) / PACKAGE
        for path in [*built.rglob("*.py"), *built.rglob("*.pyi")]:
            name = path.relative_to(built)
            if not (ROOT / name if name.parts[0] in SUBPACKAGES else ROOT / PACKAGE / name).exists():
                path.unlink()


class BuildExtensions(build_ext):
    """Translate with Cython only when extensions are really built (not for `sdist` or metadata), then compile."""

    def build_extensions(self) -> None:
        write_unicode_data()
        recipe = Path(self.build_temp) / "recipe"
        self.force = self.force or not recipe.exists() or recipe.read_text() != RECIPE
        translate(self.extensions)
        for module in self.extensions:
            msvc = self.compiler.compiler_type == "msvc"
            module.extra_compile_args = MSVC_FLAGS if msvc else [*flags(module.name), *UNIX_FLAGS]
            module.extra_link_args = SANITIZERS
        self.remove_stale()
        super().build_extensions()
        recipe.parent.mkdir(parents=True, exist_ok=True)
        recipe.write_text(RECIPE)

    def remove_stale(self) -> None:
        """Delete extensions of this Python that an earlier build left and that have no source now.

        A compiled module hides the .py file beside it, so one that is no longer built must not stay.
        """
        suffix = sysconfig.get_config_var("EXT_SUFFIX")
        wanted = {self.get_ext_filename(module.name) for module in self.extensions}
        for name in SUBPACKAGES:
            in_place = ROOT / name if getattr(self, "editable_mode", False) or self.inplace_requested else None
            for folder in (in_place, Path(self.build_lib) / PACKAGE / name):
                for path in folder.rglob(f"*{suffix}") if folder else ():
                    if os.path.join(PACKAGE, name, path.relative_to(folder)) not in wanted:
                        path.unlink()

    def finalize_options(self) -> None:
        super().finalize_options()
        self.inplace_requested = bool(self.inplace)  # setuptools clears `inplace` while it builds
        if self.parallel is None:
            self.parallel = N_JOBS


setup(ext_modules=extensions(), cmdclass={"build_py": BuildModules, "build_ext": BuildExtensions})
