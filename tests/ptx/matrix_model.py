"""ldmatrix, stmatrix, movmatrix: one kernel that carries out every form of b16, and what it has to leave in memory."""

from __future__ import annotations

import numpy as np

LANES = 32
FORMS = [(n, trans) for n in (1, 2, 4) for trans in (False, True)]
#: Words of memory: what is read, then what is written: loaded registers, stored rows, the transposed register.
READ, LOADED, STORED = 256, 2 * (1 + 2 + 4) * LANES, len(FORMS) * 256
WORDS = READ + LOADED + STORED + LANES


def row_at(lane: int) -> int:
    """Where the row of a lane's address begins: byte offset in 1024 bytes of shared memory, not in order."""
    return lane * 5 % 32 * 32 + 16 * (lane & 1)


def kernel(space: str = ".shared", name: str = "matrices") -> str:
    """Write the kernel: one warp; ``space`` "" for generic addresses."""
    lines, out = [], 4 * READ
    for n, trans in FORMS:
        word = ".trans" if trans else ""
        lines.append(f"ldmatrix.sync.aligned.m8n8.x{n}{word}{space}.b16 {_list(n)}, [%row];")
        for r in range(n):
            lines.append(f"st.global.b32 [%at + {out}], %r{r};")
            out += 4 * LANES
    for n, trans in FORMS:
        word = ".trans" if trans else ""
        lines += [f"ld.shared.b32 %r{r}, [%own + {128 * r}];" for r in range(n)]
        lines += [f"st.shared.b32 [%own + {1024 + 128 * i}], 0;" for i in range(8)]
        lines += ["bar.sync 0;", f"stmatrix.sync.aligned.m8n8.x{n}{word}{space}.b16 [%row + 1024], {_list(n)};"]
        lines.append("bar.sync 0;")
        for i in range(8):
            lines += [f"ld.shared.b32 %r4, [%own + {1024 + 128 * i}];", f"st.global.b32 [%at + {out}], %r4;"]
            out += 4 * LANES
        lines.append("bar.sync 0;")
    lines += ["ld.shared.b32 %r0, [%own];", "movmatrix.sync.aligned.m8n8.trans.b16 %r1, %r0;"]
    lines.append(f"st.global.b32 [%at + {out}], %r1;")
    generic = "cvt.u64.u32 %row, %rowoffset;" + ("" if space else "cvta.shared.u64 %row, %row;")
    return "\n".join(
        [
            f".visible .entry {name}(.param .u64 io)\n{{",
            ".reg .b64 %at, %row; .reg .b32 %lane, %own, %base, %rowoffset, %odd, %r<5>;",
            ".shared .align 16 .b8 room[2048];",
            "ld.param.u64 %at, [io]; cvta.to.global.u64 %at, %at; mov.u32 %lane, %tid.x; mov.u32 %base, room;",
            "mad.wide.u32 %at, %lane, 4, %at; mad.lo.u32 %own, %lane, 4, %base;",
            *(f"ld.global.b32 %r0, [%at + {128 * i}]; st.shared.b32 [%own + {128 * i}], %r0;" for i in range(8)),
            "bar.sync 0;",
            "mul.lo.u32 %rowoffset, %lane, 5; and.b32 %rowoffset, %rowoffset, 31; and.b32 %odd, %lane, 1;",
            "mad.lo.u32 %rowoffset, %rowoffset, 32, %base; mad.lo.u32 %rowoffset, %odd, 16, %rowoffset;",
            generic,
            *lines,
            "ret;\n}\n",
        ]
    )


def _list(count: int) -> str:
    return "{" + ", ".join(f"%r{r}" for r in range(count)) + "}"


def memory() -> np.ndarray:
    """What the kernel begins with."""
    found = np.zeros(WORDS, np.uint32)
    found[:READ] = np.random.RandomState(8).randint(0, 1 << 32, READ, np.uint32)
    return found


def expected() -> np.ndarray:
    """What it leaves (PTX ISA, ldmatrix: "each thread 4g + t holds a fragment of row g", .trans: of column g)."""
    found = memory()
    source, out = found[:READ].copy(), READ
    halves = source.view(np.uint16)
    matrices = np.array([halves[row_at(lane) // 2 :][:8] for lane in range(LANES)]).reshape(4, 8, 8)
    for n, trans in FORMS:
        for matrix in matrices[:n]:
            found[out : out + LANES] = fragment(matrix.T if trans else matrix)
            out += LANES
    for n, trans in FORMS:
        room = np.zeros(512, np.uint16)
        for r in range(n):
            matrix = source[LANES * r :][:LANES].view(np.uint16).reshape(8, 8)
            for i, row in enumerate(matrix.T if trans else matrix):
                room[row_at(8 * r + i) // 2 :][:8] = row
        found[out : out + 256] = room.view(np.uint32)
        out += 256
    found[out:] = fragment(source[:LANES].view(np.uint16).reshape(8, 8).T)
    return found


def fragment(matrix: np.ndarray) -> np.ndarray:
    """One register of 32 lanes: row g lies in lanes 4g to 4g + 3, two elements each."""
    return np.ascontiguousarray(matrix).view(np.uint32).ravel()
