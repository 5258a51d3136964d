"use strict";
(() => {
const WIDTH = 1000, HEIGHT = 400, DASH = "\u2013";

/* ---- Numbers, as html.c and axis.c write them ---- */

const grouped = text => {
  const [whole, rest] = text.split(".");
  const digits = whole.replace("-", "");
  if (digits.length < 5 || text.includes("e")) return text;
  return whole.replace(/\B(?=(\d{3})+$)/g, ",") + (rest === undefined ? "" : "." + rest);
};
const significant = (value, digits) => {
  const text = value.toPrecision(digits);
  const [mantissa, power] = text.split("e");
  const short = mantissa.includes(".") ? mantissa.replace(/\.?0+$/, "") : mantissa;
  if (power !== undefined)
    return short + "e" + power[0] + power.slice(1).padStart(2, "0");
  const size = Math.abs(value);
  return size > 0 && size < 1e-4
    ? significantSmall(value, digits) : short;
};
const significantSmall = (value, digits) => {
  const [mantissa, power] = value.toExponential(digits - 1).split("e");
  return mantissa.replace(/\.?0+$/, "") + "e" + power[0] + power.slice(1).padStart(2, "0");
};
const number = value => {
  if (value === null || !isFinite(value)) return "no number";
  const size = Math.abs(value);
  if (size >= 1e4 && size < 1e9)
    return grouped(value.toFixed(size < 99999.5 && size !== Math.floor(size) ? 1 : 0));
  return significant(value, 5);
};
const duration = s => {
  if (s === null || !isFinite(s)) return "no number";
  if (s === 0) return "0 s";
  if (Math.abs(s) < 1e-3) return significant(s * 1e6, 3) + " \u00b5s";
  if (Math.abs(s) < 0.9995) return significant(s * 1e3, 3) + " ms";
  if (s < 59.95) return significant(s, 3) + " s";
  const pair = (n, per, large, small) =>
    Math.floor(n / per) + " " + large + " " + String(n % per).padStart(2, "0") + " " + small;
  if (s < 3600) return pair(Math.round(s), 60, "min", "s");
  if (s < 86400) return pair(Math.round(s / 60), 60, "h", "min");
  return pair(Math.round(s / 3600), 24, "d", "h");
};
const roundStep = rough => {
  const power = 10 ** Math.floor(Math.log10(rough));
  return [1, 2, 5, 10].map(n => n * power).find(step => step >= rough * (1 - 1e-9)) || 10 * power;
};
const label = (value, step) => {
  if (Math.abs(value) < step / 1e6) return "0";
  const size = Math.abs(value) + step;
  for (const [from, scale, unit] of [[1e9, 1e9, "G"], [1e6, 1e6, "M"], [1e4, 1e3, "k"]])
    if (size >= from && size < 1e12) return significant(value / scale, 6) + unit;
  const digits = step < 1 ? Math.ceil(-Math.log10(step) - 1e-9) : 0;
  return digits > 4 || size >= 1e12 ? significant(value, 3) : value.toFixed(digits);
};
const linearTicks = (low, high, wanted, whole) => {
  let step = roundStep((high - low) / wanted);
  if (whole && step < 1) step = 1;
  const ticks = [];
  for (let k = Math.ceil(low / step - 1e-9); k * step <= high + step * 1e-9 && ticks.length < 16; k++)
    ticks.push([k * step, label(k * step, step)]);
  return ticks;
};
const logTicks = (low, high) => {
  const first = Math.ceil(low - 1e-9), last = Math.floor(high + 1e-9);
  if (last - first < 1) {
    return linearTicks(10 ** low, 10 ** high, 4, false)
      .filter(([at]) => at > 0).map(([at, text]) => [Math.log10(at), text]);
  }
  const every = Math.ceil((last - first + 1) / 6), ticks = [];
  for (let power = first; power <= last; power += every)
    ticks.push([power, significant(10 ** power, 1)]);
  return ticks;
};

/* ---- A curve ---- */

const create = (name, parent) => {
  const element = document.createElement("div");
  element.className = name;
  element.hidden = true;
  parent.append(element);
  return element;
};

/* The place of the number nearest to x. */
const nearestOf = (all, x) => {
  let low = 0, high = all.length - 1;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (all[middle] < x) low = middle + 1; else high = middle;
  }
  return low > 0 && x - all[low - 1] < all[low] - x ? low - 1 : low;
};

class Curve {
  constructor(figure) {
    this.figure = figure;
    this.unit = figure.dataset.unit;
    this.chart = figure.querySelector(".chart");
    this.area = figure.querySelector(".area");
    this.svg = figure.querySelector("svg");
    this.read = figure.querySelector(".read");
    this.resting = [...this.read.childNodes].map(node => node.cloneNode(true));
    this.data = this.take(JSON.parse(figure.querySelector("script").textContent));
    this.x = this.chart.dataset.x.split(" ").map(Number);
    this.y = this.chart.dataset.y.split(" ").map(Number);
    this.full = { x: this.x, y: this.y, log: false };
    this.log = false;
    this.original = new Map([...this.svg.children].map(path => [path, path.getAttribute("d")]));
    this.labels = [".xlabels", ".ylabels"].map(name => {
      const element = this.chart.querySelector(name);
      return [element, [...element.childNodes].map(node => node.cloneNode(true))];
    });
    this.cursor = create("cursor", this.area);
    this.dot = create("dot", this.area);
    this.area.tabIndex = 0;
    this.area.setAttribute("role", "slider");
    this.area.setAttribute("aria-label", this.svg.getAttribute("aria-label"));
    this.area.setAttribute("aria-valuemin", this.data.x[0]);
    this.area.setAttribute("aria-valuemax", this.data.x[this.data.x.length - 1]);
    this.say(this.data.x.length - 1);
    this.at = -1;
  }

  take(data) { return data; }
  /* As many points are drawn as dots, too. */
  get dotted() { return 40; }
  text(value) { return this.unit === "s" ? duration(value) : number(value); }
  /* Are all lines of the written page shown? */
  get whole() { return true; }
  scale(value) { return this.log ? (value > 0 ? Math.log10(value) : NaN) : value; }
  placeX(x) { return (x - this.x[0]) / (this.x[1] - this.x[0]); }
  placeY(y) { return 1 - (this.scale(y) - this.y[0]) / (this.y[1] - this.y[0]); }

  say(i) {
    this.area.setAttribute("aria-valuenow", this.data.x[i]);
    this.area.setAttribute("aria-valuetext",
      this.text(this.data.y[i]) + " at iteration " + this.data.x[i]);
  }

  nearest(x) { return nearestOf(this.data.x, x); }

  show(i) {
    const value = this.data.y[i], left = this.placeX(this.data.x[i]);
    this.at = i;
    this.cursor.hidden = left < 0 || left > 1;
    this.cursor.style.left = 100 * left + "%";
    const top = value === null ? NaN : this.placeY(value);
    this.dot.hidden = this.cursor.hidden || !(top >= -0.01 && top <= 1.01);
    this.dot.style.left = 100 * left + "%";
    this.dot.style.top = 100 * top + "%";
    const strong = document.createElement("b"), rest = document.createElement("span");
    strong.textContent = this.text(value);
    rest.textContent = " at " + grouped(String(this.data.x[i]));
    if (this.data.low && value !== null && this.data.low[i] < this.data.high[i])
      rest.textContent += ", ranks " + this.text(this.data.low[i]) + " to " +
        this.text(this.data.high[i]);
    this.read.replaceChildren(strong, rest);
  }

  rest() {
    this.at = -1;
    this.cursor.hidden = this.dot.hidden = true;
    this.read.replaceChildren(...this.resting.map(node => node.cloneNode(true)));
  }

  /* ---- Drawn again: another scale, or a part ---- */

  draw(log, range) {
    const low = range ? Math.max(range[0], this.full.x[0]) : this.full.x[0];
    const high = range ? Math.min(range[1], this.full.x[1]) : this.full.x[1];
    if (this.at >= 0) this.rest();
    this.x = low < high ? [low, high] : this.full.x;
    this.log = log && this.limits(true) !== null;
    if (!this.log && this.whole && this.x[0] === this.full.x[0] && this.x[1] === this.full.x[1]) {
      this.y = this.full.y;
      for (const [path, d] of this.original) if (d !== null) path.setAttribute("d", d);
      for (const [element, nodes] of this.labels)
        element.replaceChildren(...nodes.map(node => node.cloneNode(true)));
      return;
    }
    const limits = this.limits(this.log);
    this.y = limits || this.full.y;
    this.redraw();
  }

  /* The lines that are drawn. */
  lines() { return [this.data]; }

  /* The range of what is visible, with some margin; null: nothing is visible. */
  limits(log) {
    let low = Infinity, high = -Infinity;
    for (const line of this.lines()) {
      const { x, y } = line, lows = line.low || y, highs = line.high || y;
      for (let i = 0; i < x.length; i++) {
        if (x[i] < this.x[0] || x[i] > this.x[1] || y[i] === null) continue;
        for (const value of [lows[i], y[i], highs[i]]) {
          if (log && !(value > 0)) continue;
          const scaled = log ? Math.log10(value) : value;
          low = Math.min(low, scaled);
          high = Math.max(high, scaled);
        }
      }
    }
    if (low > high) return null;
    const room = low === high ? (log ? 0.5 : Math.abs(low) * 0.1 || 1) : (high - low) * 0.04;
    return [low - room, high + room];
  }

  pathPoint(i, values, iterations) {
    const x = WIDTH * this.placeX(iterations[i]);
    let y = HEIGHT * this.placeY(values[i]);
    if (Number.isNaN(y)) y = HEIGHT;
    return Math.round(x * 10) / 10 + " " + Math.round(y * 10) / 10;
  }

  /* The paths of a line, as curve.c writes them. */
  linePaths(line) {
    const { x, y } = line, parts = { line: "", dots: "", band: "", mean: "" };
    const seen = i => i >= 0 && i < x.length && x[i] >= this.x[0] && x[i] <= this.x[1] &&
      y[i] !== null && !(this.log && !(y[i] > 0));
    const visible = x.filter((_, i) => seen(i)).length;
    for (let i = 0; i < x.length; i++) {
      if (!seen(i)) continue;
      parts.line += (seen(i - 1) ? "L" : "M") + this.pathPoint(i, y, x);
      if (visible <= this.dotted || (!seen(i - 1) && !seen(i + 1)))
        parts.dots += "M" + this.pathPoint(i, y, x) + "h0";
    }
    for (let from = 0; line.low && from < x.length; from++) {
      if (!seen(from)) continue;
      let to = from;
      const back = [];
      for (; seen(to); to++) {
        parts.band += (to === from ? "M" : "L") + this.pathPoint(to, line.high, x);
        back.push("L" + this.pathPoint(to, line.low, x));
      }
      parts.band += back.reverse().join("") + "Z";
      from = to;
    }
    const { mean_x: means, mean_y: values } = line;
    for (let i = 0; means && i < means.length; i++)
      if (means[i] >= this.x[0] && means[i] <= this.x[1] && !(this.log && !(values[i] > 0)))
        parts.mean += (parts.mean ? "L" : "M") + this.pathPoint(i, values, means);
    return parts;
  }

  oldPath() {
    const { old_x: oldX, old_y: oldY } = this.data;
    const seenOld = i => i >= 0 && i < oldX.length && oldY[i] !== null &&
      oldX[i] >= this.x[0] && oldX[i] <= this.x[1] &&
      this.placeY(oldY[i]) >= 0 && this.placeY(oldY[i]) <= 1;
    let d = "";
    for (let i = 0; oldX && i < oldX.length; i++)
      if (seenOld(i))
        d += (seenOld(i - 1) ? "L" : "M") + this.pathPoint(i, oldY, oldX) +
          (seenOld(i - 1) || seenOld(i + 1) ? "" : "h0");
    return d;
  }

  redrawLines() {
    this.redrawPaths({ ...this.linePaths(this.data), old: this.oldPath() });
  }

  redraw() {
    this.redrawLines();
    const ticks = this.log ? logTicks(...this.y) : linearTicks(...this.y, 4, false);
    this.redrawPaths({ grid: ticks.map(([at]) =>
      "M0 " + Math.round(HEIGHT * (1 - (at - this.y[0]) / (this.y[1] - this.y[0]))) + "H" + WIDTH).join("") });
    this.redrawStarts();
    this.relabel(this.labels[1][0], "top", ticks.map(([at, text]) =>
      [100 * (1 - (at - this.y[0]) / (this.y[1] - this.y[0])), text]));
    this.relabel(this.labels[0][0], "left", linearTicks(...this.x, 5, true).map(([at, text]) =>
      [100 * this.placeX(at), text]));
  }

  /* `more`: further classes of each path. */
  redrawPaths(parts, more = []) {
    for (const [name, d] of Object.entries(parts)) {
      let path = this.svg.querySelector([name, ...more].map(one => "." + one).join(""));
      if (!path && d) {
        path = document.createElementNS("http://www.w3.org/2000/svg", "path");
        path.setAttribute("class", [name, ...more].join(" "));
        this.original.set(path, "");
        this.svg.append(path);
      }
      if (path) path.setAttribute("d", d);
    }
  }

  redrawStarts() {
    const start = this.svg.querySelector(".start");
    if (!start) return;
    const scale = at => WIDTH * this.placeX(this.full.x[0] + at / WIDTH * (this.full.x[1] - this.full.x[0]));
    start.setAttribute("d", [...this.original.get(start).matchAll(/M([\d.]+)/g)]
      .map(found => scale(Number(found[1]))).filter(at => at >= 0 && at <= WIDTH)
      .map(at => "M" + at + " 0V" + HEIGHT).join(""));
  }

  relabel(element, side, labels) {
    element.replaceChildren(...labels.map(([at, text]) => {
      const span = document.createElement("span");
      span.style[side] = at + "%";
      span.textContent = text;
      return span;
    }));
    if (side === "top") {
      const width = Math.max(1, ...labels.map(([, text]) => text.length));
      const before = parseInt(this.chart.style.getPropertyValue("--labels"), 10);
      if (width > before) this.chart.style.setProperty("--labels", width + "ch");
    }
  }
}

/* A line for each of several runs; `hidden` has the numbers of those that are not shown. */

const hidden = new Set();

class Overlay extends Curve {
  /* data.x has the iterations of all runs: what the pointer and the keys step through. */
  take(data) {
    this.runs = data.runs;
    this.rows = new Map([...this.figure.querySelectorAll(".values > div")]
      .map(row => [Number(row.dataset.run), row]));
    for (const run of this.runs) {
      const row = this.rows.get(run.run);
      run.value = row.querySelector("dd");
      run.last = run.value.textContent;
      run.name = row.querySelector("dt").textContent;
      run.classes = [...row.querySelector(".key").classList].slice(-2);
      run.dot = create("dot " + run.classes[0], this.figure.querySelector(".area"));
    }
    const x = [...new Set(this.runs.flatMap(run => run.x))].sort((a, b) => a - b);
    return { x, y: x.map(() => null) };
  }

  get dotted() { return 0; }
  get whole() { return !this.runs.some(run => hidden.has(run.run)); }
  lines() { return this.runs.filter(run => !hidden.has(run.run)); }

  /* The value of a run at an iteration, or that of its nearest point: [value, where]; null if
   * it was not there. */
  valueAt(run, x) {
    if (x < run.x[0] || x > run.x[run.x.length - 1]) return null;
    const i = nearestOf(run.x, x);
    return [run.y[i], run.x[i]];
  }

  say(i) {
    const x = this.data.x[i];
    this.area.setAttribute("aria-valuenow", x);
    this.area.setAttribute("aria-valuetext", this.lines().map(run => [run, this.valueAt(run, x)])
      .filter(([, found]) => found).map(([run, [y]]) => run.name + " " + this.text(y)).join(", ") +
      " at iteration " + x);
  }

  show(i) {
    const x = this.data.x[i], left = this.placeX(x);
    this.at = i;
    this.cursor.hidden = left < 0 || left > 1;
    this.cursor.style.left = 100 * left + "%";
    for (const run of this.runs) {
      const found = this.valueAt(run, x), [y, where] = found || [null, x];
      const top = y === null ? NaN : this.placeY(y), at = this.placeX(where);
      run.dot.hidden = hidden.has(run.run) || !(at >= 0 && at <= 1 && top >= -0.01 && top <= 1.01);
      run.dot.style.left = 100 * at + "%";
      run.dot.style.top = 100 * top + "%";
      run.value.textContent = found ? this.text(y) : DASH;
      if (found && where !== x) run.value.textContent += " at " + grouped(String(where));
    }
    this.read.textContent = "at " + grouped(String(x));
  }

  rest() {
    super.rest();
    for (const run of this.runs) {
      run.dot.hidden = true;
      run.value.textContent = run.last;
    }
  }

  redrawLines() {
    for (const run of this.runs) {
      const parts = this.linePaths(hidden.has(run.run) ? { x: [], y: [] } : run);
      delete parts.band;
      this.redrawPaths(parts, run.classes);
    }
  }

  /* After a run was hidden or shown. */
  choose() {
    for (const [run, row] of this.rows) row.hidden = hidden.has(run);
  }
}

/* ---- All of them ---- */

const curves = [...document.querySelectorAll(".curve")].map(figure =>
  figure.classList.contains("overlay") ? new Overlay(figure) : new Curve(figure));
let log = false, range = null, wanted = null;

const drawAll = () => { for (const curve of curves) curve.draw(log && curve.unit !== "s", range); };

/* The same iteration in all curves, once for each frame. */
const follow = x => {
  if (wanted === null)
    requestAnimationFrame(() => {
      const at = wanted;
      wanted = null;
      for (const curve of curves)
        if (!curve.figure.hidden) {
          if (Number.isNaN(at)) curve.rest(); else curve.show(curve.nearest(at));
        }
    });
  wanted = x;
};
const iterationAt = (curve, event) => {
  const box = curve.area.getBoundingClientRect();
  const at = Math.min(1, Math.max(0, (event.clientX - box.left) / box.width));
  return curve.x[0] + at * (curve.x[1] - curve.x[0]);
};

const listenTo = curve => {
  const area = curve.area;
  let from = null, brush = null;
  area.addEventListener("pointermove", event => {
    const at = iterationAt(curve, event);
    if (from !== null) {
      const [low, high] = [from, at].sort((a, b) => a - b);
      brush.hidden = false;
      brush.style.left = 100 * curve.placeX(low) + "%";
      brush.style.width = 100 * (curve.placeX(high) - curve.placeX(low)) + "%";
    }
    follow(at);
  });
  area.addEventListener("pointerdown", event => {
    follow(iterationAt(curve, event));
    if (event.pointerType !== "mouse" || event.button !== 0) return;
    from = iterationAt(curve, event);
    brush = create("brush", area);
    area.setPointerCapture(event.pointerId);
  });
  const release = event => {
    if (from === null) return;
    const to = iterationAt(curve, event), start = from;
    from = null;
    brush.remove();
    if (event.type === "pointerup" && Math.abs(curve.placeX(to) - curve.placeX(start)) > 0.02) {
      range = [Math.min(start, to), Math.max(start, to)];
      drawAll();
    }
  };
  area.addEventListener("pointerup", release);
  area.addEventListener("pointercancel", release);
  /* What a finger has shown stays until it touches something else. */
  area.addEventListener("pointerleave", event => {
    if (from === null && event.pointerType === "mouse") follow(NaN);
  });
  area.addEventListener("blur", () => follow(NaN));
  area.addEventListener("dblclick", () => { range = null; drawAll(); });
  area.addEventListener("keydown", event => {
    const last = curve.data.x.length - 1, now = curve.at < 0 ? last : curve.at;
    const page = Math.max(1, Math.round(last / 20));
    const to = {
      ArrowLeft: now - 1, ArrowDown: now - 1, ArrowRight: now + 1, ArrowUp: now + 1,
      PageDown: now - page, PageUp: now + page, Home: 0, End: last,
    }[event.key];
    if (event.key === "Escape") {
      range = null;
      drawAll();
    } else if (to !== undefined && !event.altKey && !event.ctrlKey && !event.metaKey) {
      const i = Math.min(last, Math.max(0, to));
      event.preventDefault();
      curve.say(i);
      curve.show(i);
      follow(curve.data.x[i]);
    }
  });
};
curves.forEach(listenTo);

/* The last lines of a log matter most. */
for (const log of document.querySelectorAll(".failure pre")) log.scrollTop = log.scrollHeight;

/* ---- Tools ---- */

const tools = document.querySelector(".tools");
if (tools && curves.length > 0) {
  const filter = document.getElementById("filter"), box = document.getElementById("log");
  const metrics = curves.filter(curve => curve.figure.id.startsWith("metric-"));
  tools.hidden = false;
  filter.parentElement.hidden = metrics.length < 3;
  filter.addEventListener("input", () => {
    const words = filter.value.toLowerCase().split(/[\s,]+/).filter(word => word);
    for (const { figure } of metrics) {
      const name = figure.dataset.name.toLowerCase();
      figure.hidden = words.length > 0 && !words.some(word => name.includes(word));
    }
  });
  box.addEventListener("change", () => { log = box.checked; drawAll(); });
  for (const tool of document.querySelectorAll(".boxes")) {
    tool.hidden = false;
    for (const one of tool.querySelectorAll("input")) one.checked = true;
    tool.addEventListener("change", event => {
      const run = Number(event.target.dataset.run);
      if (event.target.checked) hidden.delete(run); else hidden.add(run);
      for (const curve of curves) curve.choose();
      drawAll();
    });
  }
  box.checked = false;
  filter.value = "";
}
})();
