"""A line plot as SVG: the x axis by powers of ten, the y axis from zero."""

import html
import math

WIDTH, HEIGHT = 640, 300
LEFT, RIGHT, TOP, BOTTOM = 64, 130, 36, 46  # margins
COLOURS = ("#1b6ca8", "#c2571a", "#4d8c2b", "#7a4b9d")


def nice_step(highest):
    """Of 1, 2, 5 times a power of ten: for four to nine lines, that at zero included."""
    power = 10 ** math.floor(math.log10(highest / 4))
    return next(power * factor for factor in (1, 2, 5, 10)
                if highest / (power * factor) <= 8)


def number(value):
    return f"{value:,.0f}" if value >= 10 or value == int(value) else (
        f"{value:g}")


class Scale:
    """From values to places in the picture."""

    def __init__(self, points):
        xs = [math.log10(x) for x, _ in points]
        self.first, self.last = math.floor(min(xs)), math.ceil(max(xs))
        self.last = max(self.last, self.first + 1)
        highest = max(y for _, y in points)
        self.step = nice_step(highest)
        self.lines = math.ceil(highest / self.step)

    def x(self, value):
        part = (math.log10(value) - self.first) / (self.last - self.first)
        return LEFT + part * (WIDTH - LEFT - RIGHT)

    def y(self, value):
        part = value / (self.step * self.lines)
        return HEIGHT - BOTTOM - part * (HEIGHT - TOP - BOTTOM)


def text(x, y, anchor, words, extra=""):
    return (f'<text x="{x:.0f}" y="{y:.0f}" text-anchor="{anchor}"{extra}>'
            f"{html.escape(words)}</text>")


def grid(scale):
    parts = []
    for line in range(scale.lines + 1):
        value = line * scale.step
        y = scale.y(value)
        parts.append(f'<path d="M{LEFT} {y:.1f}H{WIDTH - RIGHT}" '
                     'stroke="#ddd"/>')
        parts.append(text(LEFT - 6, y + 4, "end", number(value)))
    for power in range(scale.first, scale.last + 1):
        parts.append(text(scale.x(10 ** power), HEIGHT - BOTTOM + 18, "middle",
                          f"{10 ** power:,}"))
    return parts


def curve(scale, name, points, colour):
    path = "L".join(f"{scale.x(x):.1f} {scale.y(y):.1f}" for x, y in points)
    dots = "".join(
        f'<circle cx="{scale.x(x):.1f}" cy="{scale.y(y):.1f}" r="3" '
        f'fill="{colour}"><title>{html.escape(name)}, {x:,}: {y:,.2f}</title>'
        "</circle>" for x, y in points)
    return [f'<path d="M{path}" fill="none" stroke="{colour}" '
            'stroke-width="2"/>', dots]


def legend(series):
    parts = []
    for i, name in enumerate(series):
        y = TOP + 10 + 20 * i
        parts.append(f'<path d="M{WIDTH - RIGHT + 10} {y - 4}h16" '
                     f'stroke="{COLOURS[i]}" stroke-width="2"/>')
        parts.append(text(WIDTH - RIGHT + 32, y, "start", name))
    return parts


def svg(title, x_axis, y_axis, series):
    """`series`: {name: [(x, y)...]}, one to four of them, x from 1 on, some y
    above 0."""
    scale = Scale([point for points in series.values() for point in points])
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" '
        f'height="{HEIGHT}" viewBox="0 0 {WIDTH} {HEIGHT}" '
        'font-family="DejaVu Sans, sans-serif" font-size="12">',
        '<rect width="100%" height="100%" fill="#fff"/>',
        text(LEFT, 20, "start", f"{y_axis}: {title}", ' font-weight="bold"'),
        *grid(scale),
        text((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 8, "middle", x_axis)]
    for (name, points), colour in zip(series.items(), COLOURS):
        parts += curve(scale, name, points, colour)
    return "\n".join([*parts, *legend(series), "</svg>", ""])
