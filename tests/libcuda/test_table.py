"""The call table against what cuda.bindings asks for and against NVIDIA's own header."""

import csv
import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest
from pycparser import c_ast, c_generator, c_parser

from cumulticast.libcuda import table

REQUESTS = Path(__file__).parents[1] / "data" / "getproc_cuda_bindings_13.5.0.tsv"
DRIVER = 13050


def requests() -> list[tuple[str, int, str]]:
    with REQUESTS.open() as lines:
        return [(base, int(version), symbol) for base, version, symbol in list(csv.reader(lines, delimiter="\t"))[1:]]


def test_every_request_of_cuda_bindings_resolves_to_the_symbol_it_expects():
    asked = requests()
    assert len(asked) == 526
    answers = [(b, v, e.symbol if (e := table.resolve(b, v, DRIVER)) else None) for b, v, _ in asked]
    assert answers == asked


@pytest.mark.parametrize(
    ("version", "driver", "symbol"),
    [
        (12000, DRIVER, None),  # one version before the call existed
        (12010, DRIVER, "cuMulticastBindMem"),
        (13000, DRIVER, "cuMulticastBindMem"),
        (13010, DRIVER, "cuMulticastBindMem_v2"),
        (13050, DRIVER, "cuMulticastBindMem_v2"),
        (13050, 13000, "cuMulticastBindMem"),  # an older driver knows no newer form
    ],
)
def test_resolve_answers_the_newest_form_that_is_old_enough(version, driver, symbol):
    entry = table.resolve("cuMulticastBindMem", version, driver)
    assert (entry.symbol if entry else None) == symbol


@pytest.mark.parametrize(
    ("base", "version", "symbol"),
    [
        ("cuMemcpy", 6050, "cuMemcpy"),
        ("cuMemcpy", 7000, "cuMemcpy_ptds"),
        ("cuMemcpyHtoD", 7000, "cuMemcpyHtoD_v2_ptds"),
        ("cuStreamGetCaptureInfo", 11030, "cuStreamGetCaptureInfo_v2_ptsz"),
        ("cuMemCreate", DRIVER, "cuMemCreate"),  # has no per-thread form
    ],
)
def test_the_per_thread_flag_finds_per_thread_forms_once_they_exist(base, version, symbol):
    entry = table.resolve(base, version, DRIVER, per_thread=True)
    assert entry is not None
    assert entry.symbol == symbol
    assert entry.is_per_thread == (symbol != entry.plain)
    assert table.by_symbol()[symbol] == entry


def test_forms_tell_an_unknown_name_from_a_version_too_low():
    assert table.forms("cuNoSuchCall") == ()
    assert [entry.symbol for entry in table.forms("cuCtxCreate")] == [
        "cuCtxCreate",
        "cuCtxCreate_v2",
        "cuCtxCreate_v3",
        "cuCtxCreate_v4",
    ]


def test_symbols_stand_once_and_array_lengths_name_a_number_of_the_same_call():
    symbols = [entry.symbol for entry in table.entries()]
    assert len(symbols) == len(set(symbols))
    for entry in table.entries():
        lengths = {p.name: p for p in entry.params if p.direction in ("value", "inout") and p.count is None}
        for param in entry.params:
            assert param.count is None or lengths[param.count].kind in ("i32", "u32", "u64", "size"), entry


@pytest.mark.parametrize("word", ["size", "size:", ":u64", "?size:u64", "<<a:u64", "a:u65", ">p:bytesN"])
def test_a_malformed_parameter_is_refused(word):
    with pytest.raises(ValueError, match=r"calls\.txt|invalid literal"):
        table._param(word)
    assert table._param(">?size:u64") == table.Param("size", "u64", "out", True, 8, None)


def test_the_table_is_read_without_the_package_installed():
    room = str(table.CALLS.parent)
    code = f"import sys; sys.path.insert(0, {room!r}); import table; print(len(table.entries()))"
    shown = subprocess.run([sys.executable, "-I", "-S", "-c", code], capture_output=True, text=True, check=True)
    assert int(shown.stdout) == len(table.entries())


# --- NVIDIA's header ---

#: Entries of headers other than cuda.h.
ELSEWHERE = re.compile(r"EGL|Egl|cuGL|cuGraphicsGL|VDPAU|cuProfiler")


#: Arrays whose length stands in the documentation, not in the type: a LUID of 8 bytes, a colour of 4 floats.
FIXED_ARRAYS = {
    ("cuDeviceGetLuid", "luid"): 8,
    ("cuTexRefSetBorderColor", "pBorderColor"): 4,
    ("cuTexRefGetBorderColor", "pBorderColor"): 4,
}


@pytest.fixture(scope="module")
def include() -> Path:
    roots = getattr(find_spec("nvidia"), "submodule_search_locations", None) or []
    found = [path for root in roots if (path := Path(root) / "cu13" / "include").joinpath("cuda.h").exists()]
    if not found:
        pytest.skip("the wheel nvidia-cuda-runtime is not installed")
    return found[0]


@pytest.fixture(scope="module")
def typedefs(include) -> str:
    return (include / "cudaTypedefs.h").read_text()


@pytest.fixture(scope="module")
def declared(include) -> dict[str, list[c_ast.Decl]]:
    """The parameters of every function of cuda.h, older ABI forms and per-thread forms included."""
    blank = ["-D__attribute__(x)=", "-D__extension__=", "-D__inline=inline", "-D__restrict=", "-D__asm__(x)="]
    gcc = ["gcc", "-E", "-P", "-D__CUDA_API_VERSION_INTERNAL", "-x", "c", *blank, str(include / "cuda.h")]
    text = subprocess.run(gcc, capture_output=True, text=True, check=True).stdout
    functions = (d for d in c_parser.CParser().parse(text).ext if isinstance(d, c_ast.Decl))
    return {
        f.name: _parameters(f.type) for f in functions if isinstance(f.type, c_ast.FuncDecl) and f.name.startswith("cu")
    }


def _parameters(function: c_ast.FuncDecl) -> list[c_ast.Decl]:
    return [p for p in (function.args.params if function.args else []) if isinstance(p, c_ast.Decl)]


def _is_pointer(declaration: c_ast.Decl) -> bool:
    return isinstance(declaration.type, (c_ast.PtrDecl, c_ast.ArrayDecl))


@pytest.fixture(scope="module")
def sizes(include, declared, tmp_path_factory) -> dict[tuple[str, str], int]:
    """sizeof every parameter, or of what it points to, as the C compiler sees the header."""
    show, body = c_generator.CGenerator(), []
    for symbol, params in declared.items():
        for p in params:
            of = f"*{p.name}" if _is_pointer(p) else p.name
            line = f'printf("{symbol} {p.name} %zu\\n", sizeof({of}));'
            body.append(f"static void f{len(body)}({show.visit(p)}) {{ {line} }}")
    calls = "".join(f"(({'void (*)(void)'})f{i})();" for i in range(len(body)))
    head = "#define __CUDA_API_VERSION_INTERNAL\n#include <cuda.h>\n#include <stdio.h>\n"
    where = tmp_path_factory.mktemp("sizes")
    (where / "sizes.c").write_text(head + "\n".join(body) + f"\nint main(void) {{ {calls} return 0; }}\n")
    subprocess.run(["gcc", "-w", f"-I{include}", "sizes.c", "-o", "sizes"], cwd=where, check=True)
    shown = subprocess.run([where / "sizes"], capture_output=True, text=True, check=True).stdout
    return {(symbol, name): int(size) for symbol, name, size in map(str.split, shown.splitlines())}


def _described() -> list[table.Entry]:
    return [entry for entry in table.by_symbol().values() if not ELSEWHERE.search(entry.base)]


def test_parameters_have_the_names_and_widths_of_the_header(declared, sizes):
    for entry in _described():
        theirs = declared[entry.symbol]
        # the header's per-thread declarations rename some parameters
        assert [p.name for p in entry.params] == [p.name for p in declared[entry.plain]], entry.symbol
        for ours, decl in zip(entry.params, theirs, strict=True):
            theirs_size = sizes[entry.symbol, decl.name] * FIXED_ARRAYS.get((entry.symbol, ours.name), 1)
            if ours.kind == "host":
                assert _is_pointer(decl), (entry.symbol, ours)
            elif ours.kind == "cstr":
                assert theirs_size == 1, (entry.symbol, ours)
            elif ours.kind != "fn":  # two function types are spelled without the star; all are addresses
                assert ours.size == theirs_size, (entry.symbol, ours)


def test_directions_agree_with_the_header(declared):
    for entry in _described():
        for ours, decl in zip(entry.params, declared[entry.symbol], strict=True):
            assert _is_pointer(decl) == (ours.direction != "value" or ours.kind == "host"), (
                entry.symbol,
                ours,
            )
            if _is_pointer(decl) and "const" in getattr(decl.type.type, "quals", ()):
                assert ours.direction == "in" or ours.kind == "host", (entry.symbol, ours)


def test_addresses_and_only_they_are_marked_as_addresses(declared):
    for entry in _described():
        for ours, decl in zip(entry.params, declared[entry.symbol], strict=True):
            names = getattr(getattr(decl.type, "type", None), "names", [])
            assert (ours.kind == "dptr") == (names == ["CUdeviceptr"]), (entry.symbol, ours)


def test_versions_are_those_of_the_typedefs(typedefs):
    for entry in _described():
        suffix = entry.symbol.removeprefix(entry.plain)
        assert f"PFN_{entry.base}_v{entry.version}{suffix})" in typedefs, entry


def test_no_function_of_the_header_is_forgotten(declared):
    per_thread = {symbol for symbol in declared if symbol.endswith(("_ptsz", "_ptds"))}
    assert per_thread == {entry.symbol for entry in _described() if entry.is_per_thread}
    for symbol in declared.keys() - table.by_symbol().keys():
        # the forms with 32-bit addresses, all replaced in CUDA 3.2
        assert table.forms(symbol)[0].version == 3020, symbol
