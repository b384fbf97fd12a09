"""The map of a plan: each object a panel, each replica a row, offsets from left to right.

All replicas of an object hold the same at the same offset, so what is in it is drawn once and used in every row. Rows
differ in the memory under them, which their labels name. In large teams alike rows are one. What is thinner than three
pixels is drawn together with its neighbours, and the foot says how much that is.
"""

from __future__ import annotations

from collections.abc import Iterator
from xml.sax.saxutils import escape, quoteattr

from cumulticast.layout.planned import SHARED, Bind, Plan, PlannedObject
from cumulticast.layout.segments import Segment, Shown, segments, thick
from cumulticast.layout.text import devices_text
from cumulticast.rules.text import size_text

LEFT, WIDTH, RIGHT = 230, 1000, 30  # pixels: labels, map, margin
ROW, STEP, CAPTION, AXIS, GAP = 18, 21, 26, 22, 16
HEAD, FOOT = 92, 40
THIN = 3  # pixels
LETTER = 6.7  # pixels of a letter
ROWS = 8  # more replicas than this are joined where they are alike
PANELS = 64

KINDS = {
    "array": "array",
    "existing": "array in existing memory",
    "many": "several arrays",
    "hole": "hole between arrays",
    "padding": "padding to the granularity",
    "beside": "bound beside the array",
    "headroom": "headroom of unaligned binds",
}
STYLE = """
text { font: 11px ui-monospace, Menlo, Consolas, "DejaVu Sans Mono", monospace; fill: #24292f }
.title { font-size: 15px; font-weight: bold } .caption { font-size: 12px; font-weight: bold } .soft { fill: #57606a }
.page { fill: #ffffff } .frame { fill: none; stroke: #8c959f } .in { fill: #ffffff }
.array { fill: #2f6fab } .odd { fill: #4a86bd } .existing { fill: #1f7a6d } .existing.odd { fill: #39907f }
.many { fill: url(#many) } .hole { fill: #d1493f } .padding { fill: url(#padding) } .beside { fill: url(#beside) }
.headroom { fill: url(#headroom) }
@media (prefers-color-scheme: dark) {
text { fill: #e6edf3 } .soft { fill: #9aa4af } .page { fill: #0d1117 } .frame { stroke: #6e7681 } .in { fill: #ffffff }
}
"""
#: Fill behind the lines, and the lines, of what is hatched.
HATCHES = {
    "many": ("#2f6fab", "#8fb8dc"),
    "padding": ("#b9c0c8", "#7d8590"),
    "beside": ("#a9d5cc", "#1f7a6d"),
    "headroom": ("#f2d08b", "#b07d12"),
}


def draw(plan: Plan) -> str:
    """Return the map as an SVG document."""
    panels = plan.objects[:PANELS]
    y = HEAD
    body: list[str] = []
    together = hidden = 0
    for planned in panels:
        shown = thick(segments(planned), planned.size * THIN / WIDTH)
        together, hidden = together + shown.together, hidden + shown.hidden
        lines, y = _panel(planned, shown, y)
        body += lines
    foot = _foot(plan, together, hidden)
    height = y + FOOT + 16 * len(foot)
    body += [_text(20, y + 20 + 16 * number, line, "soft") for number, line in enumerate(foot)]
    width = LEFT + WIDTH + RIGHT
    size = f'width="{width}" height="{height}"'
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" {size}>',
            f"<title>{_xml(_title(plan))}</title>",
            f"<style>{STYLE}</style>",
            f"<defs>{''.join(_hatch(*item) for item in HATCHES.items())}</defs>",
            f'<rect class="page" {size}/>',
            *_header(plan),
            *body,
            "</svg>\n",
        ]
    )


def _title(plan: Plan) -> str:
    fits = "fits" if plan.fits else "does not fit"
    return f"{plan.limits.machine}, {plan.granularity} granularity: {fits}"


def _header(plan: Plan) -> Iterator[str]:
    used = f"slots {plan.slots.used} of {plan.slots.limit}; {size_text(plan.waste)} wasted over all devices"
    if plan.limits.relaxed:
        used += f"; unaligned binds {plan.unaligned.used} of {plan.unaligned.limit} on the device with most"
    yield _text(20, 28, _title(plan), "title")
    yield _text(20, 48, used, "soft")
    x = 20.0
    for kind, words in KINDS.items():
        yield f'<rect class="{kind}" x="{x:g}" y="61" width="14" height="14"/>'
        yield _text(x + 19, 72, words)
        x += 19 + len(words) * LETTER + 18


def _panel(planned: PlannedObject, shown: Shown, y: int) -> tuple[list[str], int]:
    """Draw an object from `y` on; return the lines, and where the next one begins."""
    name = f"o{planned.number}"
    size, extent = size_text(planned.size), size_text(planned.extent)
    arrays = f"{len(planned.arrays)} array" + ("" if len(planned.arrays) == 1 else "s")
    what = f"object {planned.number}: devices {devices_text(planned.team)}, {arrays}, {size}"
    if sharing := [bind.device for bind in planned.binds if bind.created and bind.memory == SHARED]:
        what += f", memory shared with other objects on {devices_text(sharing)}"
    lines = [
        f'<defs><g id="{name}">{"".join(_strip(planned, shown))}</g></defs>',
        _text(20, y + 16, f"{what} (address range on hardware: {extent})", "caption"),
    ]
    y += CAPTION
    for devices, label in _rows(planned):
        who = f"{'device' if len(devices) == 1 else 'devices'} {devices_text(devices)}: {label}"
        lines.append(f"<g><title>{_xml(who)}</title>{_text(20, y + 13, _short(who, (LEFT - 26) / LETTER))}</g>")
        lines.append(f'<use href="#{name}" x="{LEFT}" y="{y}"/>')
        lines.append(f'<rect class="frame" x="{LEFT}" y="{y}" width="{WIDTH}" height="{ROW}"/>')
        y += STEP
    lines += _axis(planned.size, y)
    return lines, y + AXIS + GAP


def _rows(planned: PlannedObject) -> Iterator[tuple[list[int], str]]:
    """Yield devices and what memory is under their row; alike ones together in large teams."""
    binds: dict[int, list[Bind]] = {}
    for bind in planned.binds:
        binds.setdefault(bind.device, []).append(bind)
    rows: dict[tuple[int, str], list[int]] = {}
    for device in planned.team:
        label = ", ".join(_under(bind) for bind in binds.get(device, []))
        rows.setdefault((device if len(planned.team) <= ROWS else -1, label), []).append(device)
    for (_, label), devices in rows.items():
        yield devices, label


def _under(bind: Bind) -> str:
    name = "its own" if bind.created and bind.memory != SHARED else bind.memory
    return name + (f"+{bind.mem_offset}" if bind.mem_offset else "") + ("*" if bind.unaligned else "")


def _strip(planned: PlannedObject, shown: Shown) -> Iterator[str]:
    """Yield what is in an object, from its left upper corner."""
    sizes = {array.name: array.nbytes for array in planned.arrays}
    scale = WIDTH / planned.size
    for number, one in enumerate(shown.segments):
        x, width = one.start * scale, max((one.stop - one.start) * scale, 1)
        odd = " odd" if number % 2 and one.kind in ("array", "existing") else ""
        yield f'<g><title>{_xml(_said(one, sizes))}</title><rect class="{one.kind}{odd}" x="{x:.2f}" '
        yield f'width="{width:.2f}" height="{ROW}"/>'
        label = one.arrays[0] if len(one.arrays) == 1 else f"{len(one.arrays)} arrays" if one.arrays else ""
        if label and one.kind != "many" and (room := int((width - 6) / LETTER)) >= 2:
            yield _text(x + 4, 13, _short(label, room), "in")
        yield "</g>"


def _said(one: Segment, sizes: dict[str, int]) -> str:
    place = f"offset {one.start}, {one.stop - one.start} bytes ({size_text(one.stop - one.start)})"
    if one.kind == "many":
        return f"{len(one.arrays)} arrays, {one.arrays[0]} to {one.arrays[-1]}: {place}"
    if one.arrays:
        return f"{one.arrays[0]}, {size_text(sizes[one.arrays[0]])}: {place}"
    return f"{KINDS[one.kind]}: {place}"


def _axis(size: int, y: int) -> Iterator[str]:
    """Yield five offsets under a panel."""
    for quarter in range(5):
        x, anchor = LEFT + WIDTH * quarter / 4, ("start", "middle", "middle", "middle", "end")[quarter]
        yield f'<line class="frame" x1="{x:g}" y1="{y - 2}" x2="{x:g}" y2="{y + 3}"/>'
        yield _text(x, y + 14, size_text(size * quarter // 4) if quarter else "0", "soft", anchor)


def _foot(plan: Plan, together: int, hidden: int) -> list[str]:
    lines = [f"lacking: {lack.why}" for lack in plan.lacking[:5]]
    if plan.unaligned.used:
        lines.append("* the bind begins inside a granule of the memory")
    if len(plan.objects) > PANELS:
        lines.append(f"{len(plan.objects) - PANELS} more objects are not drawn: cumulticast plan --json has them")
    if together:
        lines.append(f"{together} arrays are too thin to see and drawn together with their neighbours")
    if hidden:
        lines.append(f"{size_text(hidden)} in holes and rests too thin to see lie among the arrays")
    return lines


def _hatch(name: str, colours: tuple[str, str]) -> str:
    return (
        f'<pattern id="{name}" width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">'
        f'<rect width="6" height="6" fill="{colours[0]}"/><rect width="2" height="6" fill="{colours[1]}"/></pattern>'
    )


def _text(x: float, y: float, words: str, kind: str = "", anchor: str = "") -> str:
    extra = (f" class={quoteattr(kind)}" if kind else "") + (f" text-anchor={quoteattr(anchor)}" if anchor else "")
    return f'<text x="{x:g}" y="{y:g}"{extra}>{_xml(words)}</text>'


def _short(words: str, letters: float) -> str:
    return words if len(words) <= letters else words[: max(int(letters) - 1, 1)] + "…"


def _xml(words: str) -> str:
    """Escape text; what XML cannot hold (control characters, half surrogates) becomes a question mark in a box."""
    return escape("".join(letter if _legal(ord(letter)) else "�" for letter in words))


def _legal(code: int) -> bool:
    return code in (9, 10, 13) or 32 <= code < 0xD800 or 0xE000 <= code < 0xFFFE or code > 0xFFFF
