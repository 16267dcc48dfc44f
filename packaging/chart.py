#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Draws the charts of the pages from committed CSVs, as SVG that is readable on light and dark.

  chart.py ratios   --results a.csv[,b.csv] --summary classes.csv --output ratios.svg
  chart.py roofline --results a.csv[,b.csv] --ceilings ceilings.csv --output roofline.svg
  chart.py ladder   --results frozen.csv --fitted fitted.csv --output ladder.svg
  chart.py timeline --results a.json[,b.json] --microseconds 20 --output timeline.svg

results: `bwgemm_bench --csv`; classes: `bwgemm_bench --summary ... --csv`; ceilings:
`bwgemm_bench --ceiling --csv`; of the ladder, both: `tests/kernels_on_vgpu/timing/ladder.py --csv`; of a
timeline: `bwgemm_bench --trace`. The same
input gives the same bytes.
"""

import argparse
import csv
import json
import math
import sys
from xml.sax.saxutils import escape

# Colours that have contrast on white and on GitHub's dark background; text follows the theme.
STYLE = """<style>
text { font: 12px system-ui, -apple-system, "Segoe UI", sans-serif; fill: #1f2328 }
.title { font-size: 15px; font-weight: 600 }
.small { font-size: 10.5px }
.soft { fill: #656d76 }
.line { stroke: #8c959f; stroke-width: 1 }
.grid { stroke: #8c959f; stroke-width: 0.5; stroke-opacity: 0.4 }
.one { stroke: #8c959f; stroke-width: 1.5 }
.roof { stroke: #8c959f; stroke-width: 1.5; fill: none }
.dash { stroke-dasharray: 5 4 }
.ours { fill: #1a7f37 }
.theirs { fill: #bf8700 }
.worse { fill: #cf222e }
.idle { fill: #8c959f; fill-opacity: 0.35 }
circle { fill-opacity: 0.75 }
rect { rx: 1.5px }
@media (prefers-color-scheme: dark) {
  text { fill: #e6edf3 }
  .soft { fill: #9198a1 }
  .ours { fill: #3fb950 }
  .theirs { fill: #d29922 }
  .worse { fill: #f85149 }
}
</style>"""


HOLLOW = """<style>
.hollow { fill: none; stroke: #1f2328; stroke-width: 1.5 }
@media (prefers-color-scheme: dark) { .hollow { stroke: #e6edf3 } }
</style>"""


def plain(value):
    return f"{value:.1f}".removesuffix(".0") if isinstance(value, float) else value


class Svg:
    def __init__(self, width, height, title):
        self.width, self.height = width, height
        self.parts = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
                      f'width="{width}" height="{height}" role="img">',
                      f"<title>{escape(title)}</title>", STYLE]

    def add(self, element, text="", **attributes):
        """Numbers keep one digit behind the point, and attributes that are empty are left out."""
        told = [f'{name.rstrip("_").replace("_", "-")}="{plain(value)}"'
                for name, value in attributes.items() if value != ""]
        end = f">{text}</{element}>" if text else "/>"
        self.parts.append(" ".join([f"<{element}", *told]) + end)

    def text(self, x, y, text, classes="", anchor=""):
        self.add("text", escape(text), x=x, y=y, class_=classes, text_anchor=anchor)

    def line(self, x1, y1, x2, y2, classes="line"):
        self.add("line", x1=x1, y1=y1, x2=x2, y2=y2, class_=classes)

    def path(self, points, classes):
        steps = " L".join(f"{plain(x)} {plain(y)}" for x, y in points)
        self.add("path", d=f"M{steps}", class_=classes)

    def bar(self, x, y, width, height, classes, hint):
        self.add("rect", f"<title>{escape(hint)}</title>", x=x, y=y, width=max(width, 0.0),
                 height=height, class_=classes)

    def dot(self, x, y, radius, classes, hint):
        self.add("circle", f"<title>{escape(hint)}</title>", cx=x, cy=y, r=radius, class_=classes)

    def finish(self):
        return "\n".join(self.parts) + "\n</svg>\n"


def read(path):
    with open(path, newline="", encoding="utf-8") as file:
        return list(csv.DictReader(line for line in file if not line.startswith("#")))


def compared(paths):
    """Rows of result files in which both libraries were timed."""
    rows = [row for path in paths.split(",") for row in read(path)
            if float(row["bwgemm_us"]) > 0 and float(row["ratio_first"]) > 0]
    if not rows:
        sys.exit(f"chart: no row of {paths} compares with cuBLASLt")
    return rows


def least_bytes(row):
    """Each matrix moved once, C twice if it is read; a gate leaves half of it."""
    m, n, k, batch = (float(row[key]) for key in ("m", "n", "k", "batch"))
    of = lambda stride: 1 if float(row[stride]) == 0 else batch
    out = 4 if row["out"] == "f32" else 2
    if row.get("gate", "none") != "none":
        out /= 2
    return (2 * (m * k * of("stridea") + k * n * of("strideb")) +
            out * m * n * batch * (1 if float(row["beta"]) == 0 else 2))


def flop(row):
    return 2 * float(row["m"]) * float(row["n"]) * float(row["k"]) * float(row["batch"])


class LogAxis:
    def __init__(self, low, high, start, end):
        self.low, self.high, self.start, self.end = low, high, start, end

    def at(self, value):
        share = math.log(value / self.low) / math.log(self.high / self.low)
        return self.start + share * (self.end - self.start)


def ratio_axis(values):
    low = min(0.8, *(value * 0.93 for value in values))
    high = max(1.5, *(value * 1.07 for value in values))
    ticks = [tick for tick in (0.1, 0.2, 0.3, 0.5, 0.7, 0.85, 1, 1.2, 1.5, 2, 3, 5, 8, 12)
             if low <= tick <= high]
    return low, high, ticks


def draw_classes(svg, axis, top, summary, ticks):
    """One line a class: bars of both means from 1, ticks at the worst."""
    row_height = 34
    bottom = top + row_height * len(summary)
    for tick in ticks:
        svg.line(axis.at(tick), top - 6, axis.at(tick), bottom, "one" if tick == 1 else "grid")
        svg.text(axis.at(tick), bottom + 14, f"{tick:g}", "small soft", "middle")
    for number, row in enumerate(summary):
        y = top + number * row_height
        svg.text(axis.start - 10, y + 13, row["class"], "", "end")
        svg.text(axis.start - 10, y + 25, f'{row["problems"]} problem{"" if row["problems"] == "1" else "s"}', "small soft",
                 "end")
        for offset, kind, colour in ((2, "first", "ours"), (14, "best", "theirs")):
            mean, worst = float(row[f"mean_{kind}"]), float(row[f"worst_{kind}"])
            begin, end = sorted((axis.at(1), axis.at(mean)))
            svg.bar(begin, y + offset, end - begin, 10, colour if mean >= 1 else "worse",
                    f"{row['class']}, of cuBLASLt's {kind}: {mean:.3f}")
            svg.text(axis.end + 8, y + offset + 9, f"{mean:.2f}", "small")
            svg.dot(axis.at(worst), y + offset + 5, 2.5, colour if worst >= 1 else "worse",
                    f"worst of the {kind}: {row[f'worst_{kind}_name']} {worst:.3f}")
        svg.text(axis.end + 44, y + 11, f"worst {float(row['worst_first']):.2f} "
                 f"{row['worst_first_name']}", "small soft")
        svg.text(axis.end + 44, y + 23, f"worst {float(row['worst_best']):.2f} "
                 f"{row['worst_best_name']}", "small soft")
    return bottom + 24


def draw_problems(svg, left, right, top, rows):
    """Every problem as a bar, worst first, against cuBLASLt's best."""
    height = 170
    ratios = sorted((float(row["ratio_best"]), row["name"]) for row in rows)
    low, high, ticks = ratio_axis([ratio for ratio, _ in ratios])
    axis = LogAxis(low, high, top + height, top)
    for tick in ticks:
        svg.line(left, axis.at(tick), right, axis.at(tick), "one" if tick == 1 else "grid")
        svg.text(left - 8, axis.at(tick) + 4, f"{tick:g}", "small soft", "end")
    width = (right - left) / len(ratios)
    for number, (ratio, name) in enumerate(ratios):
        begin, end = sorted((axis.at(1), axis.at(ratio)))
        svg.bar(left + number * width + width * 0.1, begin, width * 0.8, end - begin,
                "ours" if ratio >= 1 else "worse", f"{name}: {ratio:.3f}")
    faster = sum(ratio >= 1 for ratio, _ in ratios)
    svg.text(left, top + height + 16, f"worst {ratios[0][0]:.2f} {ratios[0][1]}", "small soft")
    svg.text(right, top + height + 16, f"{faster} of {len(ratios)} at least as fast as the best",
             "small soft", "end")


def ratios_chart(results, summary_path):
    rows, summary = compared(results), read(summary_path)
    values = [float(row[key]) for row in summary
              for key in ("mean_first", "mean_best", "worst_first", "worst_best")]
    low, high, ticks = ratio_axis(values)
    width, top = 980, 84
    height = top + 34 * len(summary) + 300
    svg = Svg(width, height, "bwgemm against cuBLASLt")
    svg.text(20, 26, "cuBLASLt's time over bwgemm's: above 1 bwgemm is faster", "title")
    svg.text(20, 46, "Bars: geometric means over a class, against the first result of cuBLASLt's "
             "heuristic (upper) and the fastest of all it returns (lower).", "small soft")
    svg.text(20, 61, "Dots: the worst problem of the class. Red is slower.", "small soft")
    bottom = draw_classes(svg, LogAxis(low, high, 240, 640), top, summary, ticks)
    svg.text(20, bottom + 26, "Every problem against the fastest of cuBLASLt", "title")
    draw_problems(svg, 60, width - 20, bottom + 42, rows)
    return svg.finish()


def ceiling(rows, prefix, kind):
    found = [float(row[kind]) for row in rows if row["name"].startswith(prefix)]
    return max(found) if found else 0


def roofline_chart(results, ceilings_path):
    rows, ceilings = compared(results), read(ceilings_path)
    tensor, burst = ceiling(ceilings, "tensor", "sustained"), ceiling(ceilings, "tensor", "burst")
    memory = ceiling(ceilings, "copy", "sustained")
    if tensor <= 0 or memory <= 0:
        sys.exit(f"chart: {ceilings_path} has no rates of tensor cores and copies")
    points = [(flop(row) / least_bytes(row), flop(row) / float(row["bwgemm_us"]) * 1e-6,
               flop(row) / float(row["first_us"]) * 1e-6, row["name"]) for row in rows]
    width, height, left, right, top, bottom = 980, 560, 70, 950, 84, 500
    x = LogAxis(min(p[0] for p in points) * 0.8, max(p[0] for p in points) * 1.3, left, right)
    y = LogAxis(min(min(p[1], p[2]) for p in points) * 0.8, max(tensor, burst) * 1.35, bottom, top)
    svg = Svg(width, height, "Roofline")
    svg.text(20, 26, "Rates against what the chip can do", "title")
    svg.text(20, 46, "TFLOP/s over FLOP per byte that must be moved. Green: bwgemm. Yellow: "
             "cuBLASLt's first. Operands do not fit in L2.", "small soft")
    for decade in range(-3, 6):
        for value, axis, vertical in ((10.0 ** decade, x, True), (10.0 ** decade, y, False)):
            if not axis.low <= value <= axis.high:
                continue
            if vertical:
                svg.line(x.at(value), top, x.at(value), bottom, "grid")
                svg.text(x.at(value), bottom + 16, f"{value:g}", "small soft", "middle")
            else:
                svg.line(left, y.at(value), right, y.at(value), "grid")
                svg.text(left - 8, y.at(value) + 4, f"{value:g}", "small soft", "end")
    svg.text((left + right) / 2, bottom + 36, "FLOP per byte", "small soft", "middle")
    knee = tensor / memory
    begin = max(x.low, y.low / memory)
    svg.path([(x.at(begin), y.at(begin * memory)), (x.at(knee), y.at(tensor)),
              (right, y.at(tensor))], "roof")
    label = f"tensor cores alone: {tensor:.0f} TFLOP/s sustained"
    if burst > 0:
        svg.line(x.at(burst / memory), y.at(burst), right, y.at(burst), "roof dash")
        label += f", {burst:.0f} in a burst (dashed)"
    svg.text(right, y.at(max(tensor, burst)) - 6, label, "small", "end")
    middle = math.sqrt(begin * knee)
    svg.text(x.at(middle) - 8, y.at(middle * memory) - 8, f"copy: {memory:.2f} TB/s", "small",
             "end")
    for intensity, ours, theirs, name in points:
        svg.dot(x.at(intensity), y.at(theirs), 3, "theirs", f"{name}: cuBLASLt {theirs:.1f}")
    for intensity, ours, theirs, name in points:
        svg.dot(x.at(intensity), y.at(ours), 3, "ours", f"{name}: bwgemm {ours:.1f} TFLOP/s")
    return svg.finish()


def ladder_chart(results, fitted):
    """A step's published rate with what is wanted around it, and two predictions."""
    rows, others = read(results), {row["step"]: row for row in read(fitted)}
    width, height, left, right, top, bottom = 980, 420, 70, 960, 84, 360
    most = max(float(row[key] or 0) for row in (*rows, *others.values())
               for key in ("tflops", "published"))
    at = lambda value: bottom - (bottom - top) * value / (most * 1.2)
    svg = Svg(width, height, "The ladder, predicted")
    svg.parts.append(HOLLOW)
    svg.text(20, 26, "The ladder at m = n = k = 4096 on a B200: predicted, not measured by us",
             "title")
    svg.text(20, 46, "TFLOP/s. Yellow: published, with 15 % around it. Green: predicted by constants "
             "frozen before. Circles: by the second, fitted constants,", "small soft")
    svg.text(20, 61, "filled; and hollow, fitted without the step.", "small soft")
    for value in range(0, int(most * 1.2), 250):
        svg.line(left, at(value), right, at(value), "grid")
        svg.text(left - 8, at(value) + 4, str(value), "small soft", "end")
    each = (right - left) / len(rows)
    for number, row in enumerate(rows):
        x, other = left + each * (number + 0.5), others[row["step"]]
        svg.text(x, bottom + 18, row["step"], "", "middle")
        if row["published"]:
            published = float(row["published"])
            svg.bar(x - 30, at(published), 28, bottom - at(published), "theirs",
                    f'{row["step"]}: published {published:.0f}')
            svg.line(x - 16, at(published * 1.15), x - 16, at(published * 0.85), "one")
            svg.text(x, bottom + 34, f'{float(row["error_percent"]):+.1f} %', "small soft", "middle")
        svg.bar(x + 2, at(float(row["tflops"])), 28, bottom - at(float(row["tflops"])), "ours",
                f'{row["step"]}: predicted {row["tflops"]}')
        svg.dot(x + 16, at(float(other["tflops"])), 4, "theirs",
                f'{row["step"]}: predicted, fitted {other["tflops"]}')
        if other["left_out_tflops"]:
            svg.dot(x + 16, at(float(other["left_out_tflops"])), 5.5, "hollow",
                    f'{row["step"]}: predicted, fitted without it {other["left_out_tflops"]}')
    svg.text(left - 8, bottom + 34, "error", "small soft", "end")
    return svg.finish()


ROLES = ("producer", "loader", "consumer", "mma", "team", "epilogue", "output")
KINDS = {"multiply": "ours", "issue loads": "ours", "move lines": "ours",
         "stage activations": "ours", "add sums": "theirs", "epilogue": "theirs",
         "store": "theirs"}


def read_tracks(path):
    """Of the first CTA that is traced in detail: its title and its roles' spans, by role."""
    with open(path, encoding="utf-8") as file:
        trace = json.load(file)
    named = {(event["pid"], event["tid"]): event["args"]["name"]
             for event in trace["traceEvents"] if event["name"] == "thread_name"}
    detailed = {key: name.split(" ", 2)[2] for key, name in named.items()
                if name.startswith("CTA 0 ") and not name.endswith(": tiles")}
    tracks = {role: [] for role in sorted(detailed.values(),
                                          key=lambda role: (ROLES.index(role.split()[0]), role))}
    for event in trace["traceEvents"]:
        role = detailed.get((event["pid"], event.get("tid")))
        if event["ph"] == "X" and role is not None:
            tracks[role].append((event["name"].rsplit(" ", 1)[0], event["ts"], event["dur"]))
    return trace["otherData"]["title"], {role: spans for role, spans in tracks.items() if spans}


def timeline_chart(results, microseconds):
    """The roles of one CTA over time: what works in colours, what waits in grey."""
    traces = [read_tracks(path) for path in results.split(",")]
    left, right, row, gap = 110, 960, 24, 52
    height = 70 + sum(gap + row * len(tracks) for _, tracks in traces)
    svg = Svg(980, height, "The roles of one CTA over time")
    svg.text(20, 26, f"The roles of one CTA, the first {microseconds:g} us", "title")
    svg.text(20, 46, "Green: products, and loads issued. Yellow: epilogues and stores. Grey: "
             "waiting.", "small soft")
    top = 46
    for title, tracks in traces:
        top += gap
        start = min(begin for spans in tracks.values() for _, begin, _ in spans)
        at = lambda us: left + (right - left) * (us - start) / microseconds
        svg.text(20, top - 18, title, "small")
        for role, spans in tracks.items():
            svg.text(left - 8, top + row / 2 + 4, role, "small soft", "end")
            for name, begin, duration in spans:
                end = min(begin + duration, start + microseconds)
                if name == "start" or end <= begin:
                    continue
                svg.bar(at(begin), top + 3, at(end) - at(begin), row - 6,
                        KINDS.get(name, "idle"), f"{name}, {duration:.2f} us")
            top += row
    return svg.finish()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    charts = parser.add_subparsers(dest="chart", required=True)
    for name, second in (("ratios", "--summary"), ("roofline", "--ceilings"), ("ladder", "--fitted")):
        chart = charts.add_parser(name)
        for option in ("--results", second, "--output"):
            chart.add_argument(option, required=True)
    timeline = charts.add_parser("timeline")
    for option in ("--results", "--output"):
        timeline.add_argument(option, required=True)
    timeline.add_argument("--microseconds", type=float, default=20)
    args = parser.parse_args()
    draw = {"ratios": lambda: ratios_chart(args.results, args.summary),
            "roofline": lambda: roofline_chart(args.results, args.ceilings),
            "ladder": lambda: ladder_chart(args.results, args.fitted),
            "timeline": lambda: timeline_chart(args.results, args.microseconds)}
    svg = draw[args.chart]()
    with open(args.output, "w", encoding="utf-8") as file:
        file.write(svg)


if __name__ == "__main__":
    main()
