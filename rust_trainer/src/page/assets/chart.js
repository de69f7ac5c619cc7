"use strict";
// A chart with a list of its lines below it: their colours, whether they are shown, their values under the pointer.

const data = JSON.parse(document.getElementById("data").textContent);
const charts = new Set();

const theme = name => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
const colour = index => theme(`--series-${index % 8 + 1}`);

/** Makes an element: `make("p", {class: "note"}, "text", child, …)`. */
function make(name, attributes = {}, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
    else if (value !== false && value != null) element.setAttribute(key, value === true ? "" : value);
  }
  element.append(...children.filter(child => child != null));
  return element;
}

const shown = {
  /** A number as people read it: at most four digits behind what counts. */
  number(value) {
    if (value == null) return "–";
    const size = Math.abs(value);
    if (size >= 1000) return value.toLocaleString("en", {maximumFractionDigits: 0});
    if (size >= 10 || size === 0) return value.toFixed(1);
    return size >= 0.001 ? String(Number(value.toPrecision(3))) : value.toExponential(2);
  },
  count(value) {
    for (const [unit, size] of [["G", 1e9], ["M", 1e6], ["k", 1e3]]) {
      if (Math.abs(value) >= size) return Number((value / size).toPrecision(4)) + unit;
    }
    return String(Number(value.toPrecision(4)));
  },
  time(seconds) {
    if (seconds < 60) return `${Math.round(seconds)} s`;
    const minutes = Math.round(seconds / 60);
    if (minutes < 60) return `${minutes} min`;
    return `${Math.floor(minutes / 60)} h ${String(minutes % 60).padStart(2, "0")}`;
  },
  interval(estimate, digits = shown.number) {
    if (estimate == null) return "–";
    if (estimate.low == null) return digits(estimate.value);
    return `${digits(estimate.value)} (${digits(estimate.low)} to ${digits(estimate.high)})`;
  },
};

const AXES = {
  steps: {label: "agent steps", format: shown.count},
  time: {
    label: "time of training", format: shown.time,
    incrs: [1, 2, 5, 10, 30, 60, 120, 300, 600, 1800, 3600, 7200, 14400, 28800, 86400, 172800, 604800],
  },
};

/** The place in `line` of what is nearest to `x`, or of the step that it is on; -1 beside its ends. */
function nearest(line, x) {
  const xs = line.x, last = xs.length - 1;
  if (last < 0) return -1;
  const room = (xs[last] - xs[0]) / Math.max(last, 1);
  if (x < xs[0] - room || x > xs[last] + room) return -1;
  let low = 0, high = last;
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if (xs[middle] <= x) low = middle; else high = middle;
  }
  if (line.stepped) return x < xs[high] ? low : high;
  return x - xs[low] < xs[high] - x ? low : high;
}

/**
 * Draws lines into `place`: `{label, x, y, low, high, colour, dash, thin, flat, stepped}`. A `flat` line has one
 * value at every x, a `stepped` one holds each value up to the next x; `low` and `high` are the ends of a band. `hidden` has the labels of lines that are not shown. A `quiet` chart
 * says nothing of the ends of its lines.
 */
class Chart {
  constructor(place, {axis, yLabel, name, quiet = false, hidden = []}) {
    this.quiet = quiet;
    this.place = place;
    this.box = make("div", {
      class: "chart", tabindex: 0, role: "img",
      "aria-label": `${name}. Arrow keys move the pointer, Home and End go to the ends, Escape shows everything.`,
      onkeydown: event => this.key(event),
    });
    this.at = make("p", {class: "at", "aria-live": "polite"});
    this.list = make("ul", {class: "readout", "aria-label": `Lines of: ${name}`});
    place.append(this.box, this.at, this.list);
    this.axis = axis;
    this.yLabel = yLabel;
    this.hidden = new Set(hidden);
    this.lines = [];
    new ResizeObserver(() => this.plot?.setSize(this.size())).observe(this.box);
    charts.add(this);
  }

  size() {
    const width = this.box.clientWidth;
    return {width, height: width < 600 ? 300 : 380};
  }

  show(lines, axis = this.axis) {
    this.lines = lines;
    this.axis = axis;
    this.draw();
  }

  draw() {
    this.plot?.destroy();
    const lines = this.lines.filter(line => !this.hidden.has(line.label));
    const xs = lines.filter(line => !line.flat).flatMap(line => line.x);
    const [first, last] = xs.length
      ? xs.reduce(([low, high], x) => [Math.min(low, x), Math.max(high, x)], [Infinity, -Infinity])
      : [0, 1];
    const series = [{}], bands = [], tables = [];
    for (const line of lines) {
      const stroke = line.colour;
      const x = line.flat ? [first, last] : line.x;
      const y = line.flat ? [line.y, line.y] : line.y;
      const paths = line.stepped ? uPlot.paths.stepped({align: 1}) : undefined;
      if (line.low) {
        const edge = {paths, stroke: "transparent", width: 0, points: {show: false}};
        bands.push({series: [series.length + 1, series.length], fill: stroke + "33"});
        series.push(edge, edge);
        tables.push([x, line.low, line.high]);
      }
      series.push({
        label: line.label, paths, stroke, width: line.thin ? 1 : 2, dash: line.dash ? [6, 5] : undefined,
        points: {show: y.length === 1},
      });
      tables.push([x, y]);
    }
    const axis = AXES[this.axis] ?? {label: this.axis, format: shown.number};
    const look = {stroke: theme("--faint"), grid: {stroke: theme("--rule"), width: 1}, ticks: {stroke: theme("--rule")}, font: "12px system-ui, sans-serif", labelFont: "12px system-ui, sans-serif"};
    this.plot = new uPlot({
      ...this.size(),
      padding: [8, 12, 0, 0],
      legend: {show: false},
      cursor: {y: false, points: {show: false}, drag: {x: true, y: false}},
      scales: {x: {time: false, range: (_, low, high) => low === high ? [low - 1, high + 1] : [low, high]}},
      series, bands,
      axes: [
        {...look, label: axis.label, incrs: axis.incrs, values: (_, ticks) => ticks.map(tick => axis.format(tick)), space: 50},
        {...look, label: this.yLabel, values: (_, ticks) => ticks.map(tick => tick.toLocaleString("en", {maximumFractionDigits: 6})), size: 62},
      ],
      hooks: {setCursor: [plot => this.read(plot)], draw: [plot => this.name(plot, lines.filter(line => line.flat))]},
    }, tables.length ? uPlot.join(tables) : [[0, 1]], this.box);
    this.rows();
  }

  /** Writes the names of flat lines on them, side by side, for many are close to one another. */
  name(plot, lines) {
    const {ctx, bbox} = plot, ratio = devicePixelRatio;
    // Where there is no room the list below has them.
    if (bbox.width < 600 * ratio) return;
    const columns = Math.max(1, Math.floor(bbox.width / (170 * ratio)));
    ctx.save();
    ctx.font = `${11 * ratio}px system-ui, sans-serif`;
    ctx.textAlign = "right";
    ctx.textBaseline = "bottom";
    lines.toSorted((one, other) => one.y - other.y).forEach((line, index) => {
      ctx.fillStyle = line.colour;
      const right = bbox.left + bbox.width - (4 + index % columns * 170) * ratio;
      ctx.fillText(line.name, right, plot.valToPos(line.y, "y", true) - 3 * ratio);
    });
    ctx.restore();
  }

  rows() {
    this.values = new Map();
    this.list.replaceChildren(...this.lines.map(line => {
      const value = make("span", {class: "value"});
      this.values.set(line, value);
      const swatch = make("span", {class: line.dash ? "swatch dashed" : "swatch"});
      swatch.style.borderColor = line.colour;
      const button = make("button", {
        type: "button", title: line.title ?? line.label, "aria-pressed": String(!this.hidden.has(line.label)),
        onclick: () => {
          if (!this.hidden.delete(line.label)) this.hidden.add(line.label);
          this.draw();
          [...this.list.querySelectorAll("button")].find(other => other.title === button.title)?.focus();
        },
      }, swatch, make("span", {class: "label"}, line.label));
      return make("li", {}, button, value);
    }));
    this.read(this.plot);
  }

  /** Writes the values under the pointer, or, where there is none, those at the ends of the lines. */
  read(plot) {
    if (!this.values) return;
    const left = plot?.cursor.left ?? -1;
    const x = left >= 0 ? plot.posToVal(left, "x") : null;
    const axis = AXES[this.axis] ?? {label: this.axis, format: shown.number};
    this.at.textContent = x == null ? this.quiet ? "Point at the chart to see values." : "Values at the end of each line." : `Values at ${axis.format(x)} (${axis.label}).`;
    for (const [line, place] of this.values) {
      if (line.flat) {
        place.textContent = shown.number(line.y);
        continue;
      }
      const index = x == null ? this.quiet ? -1 : line.x.length - 1 : nearest(line, x);
      const end = key => shown.number(line[key][index]);
      place.textContent = index < 0 ? "" : line.low ? `${end("y")} (${end("low")} to ${end("high")})` : end("y");
    }
  }

  key(event) {
    const plot = this.plot;
    const {min, max} = plot.scales.x;
    const width = plot.over.clientWidth;
    const moves = {ArrowLeft: -1, ArrowRight: 1, PageUp: -10, PageDown: 10, Home: -1000, End: 1000};
    if (event.key === "Escape") {
      plot.setScale("x", {min: plot.data[0][0], max: plot.data[0].at(-1)});
      plot.setCursor({left: -10, top: -10});
    } else if (event.key in moves) {
      const left = plot.cursor.left >= 0 ? plot.cursor.left : moves[event.key] > 0 ? 0 : width;
      const moved = Math.max(0, Math.min(width, left + moves[event.key] * width / 100));
      plot.setCursor({left: moved, top: plot.over.clientHeight / 2});
    } else return;
    event.preventDefault();
  }
}

matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
  for (const chart of charts) chart.refresh();
});
