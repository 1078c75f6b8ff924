"use strict";
// Line charts by hand: a canvas, two axes, one series. Colours come from the style sheet.

function colour(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

// A context scaled to the screen's own pixels, cleared; sizes are in CSS pixels.
function prepared(canvas) {
  const ratio = window.devicePixelRatio || 1;
  const width = canvas.clientWidth, height = canvas.clientHeight;
  if (canvas.width !== Math.round(width * ratio) || canvas.height !== Math.round(height * ratio)) {
    canvas.width = Math.round(width * ratio);
    canvas.height = Math.round(height * ratio);
  }
  const context = canvas.getContext("2d");
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.clearRect(0, 0, width, height);
  context.font = "12px system-ui, sans-serif";
  return { context, width, height };
}

// A number as short as it can be read.
function short(value) {
  if (value === "inf" || value === Infinity) return "∞";
  if (value === null || value === undefined) return "–";
  const size = Math.abs(value);
  if (size >= 1e6) return (value / 1e6).toPrecision(3) + " M";
  if (size >= 1e4) return Math.round(value / 1000) + " k";
  if (size >= 100 || Number.isInteger(value)) return String(Math.round(value));
  if (size > 0 && size < 0.001) return value.toExponential(0);
  return String(Number(value.toPrecision(2)));
}

// Three to five round numbers between two others.
function rounds(low, high) {
  const span = high - low || 1, raw = span / 3;
  const power = Math.pow(10, Math.floor(Math.log10(raw)));
  const step = [1, 2, 5, 10].map((k) => k * power).find((k) => k >= raw);
  const found = [];
  for (let at = Math.ceil(low / step - 1e-9) * step; at <= high + 1e-9 * span; at += step) {
    found.push(Math.abs(at) < 1e-9 * span ? 0 : at);
  }
  return found;
}

// points: [[x, y, filled], ...]; options: low, high, ticks [[y, words], ...], stepped, dots, empty.
function chart(canvas, points, options) {
  const { context, width, height } = prepared(canvas);
  const left = 40, right = 8, top = 8, bottom = 20;
  context.fillStyle = colour("--quiet");
  if (points.length === 0) {
    context.fillText(options.empty || "Nothing yet", left, height / 2);
    canvas.setAttribute("aria-label", options.label + ": nothing yet");
    return;
  }
  const xs = points.map((p) => p[0]), ys = points.map((p) => p[1]);
  const x0 = options.first, x1 = Math.max(x0 + 1, options.last === undefined ? Math.max(...xs) : options.last);
  let y0 = options.low === undefined ? Math.min(0, ...ys) : options.low;
  let y1 = options.high === undefined ? Math.max(...ys) : options.high;
  if (y1 <= y0) y1 = y0 + 1;
  const x = (value) => left + ((value - x0) / (x1 - x0)) * (width - left - right);
  const y = (value) => height - bottom - ((value - y0) / (y1 - y0)) * (height - top - bottom);
  context.strokeStyle = colour("--line");
  context.lineWidth = 1;
  context.textAlign = "right";
  context.textBaseline = "middle";
  for (const [value, words] of options.ticks || rounds(y0, y1).map((value) => [value, short(value)])) {
    context.beginPath();
    context.moveTo(left, y(value));
    context.lineTo(width - right, y(value));
    context.stroke();
    context.fillText(words, left - 5, y(value));
  }
  context.textBaseline = "alphabetic";
  context.textAlign = "left";
  context.fillText(short(x0), left, height - 4);
  context.textAlign = "right";
  context.fillText(short(x1), width - right, height - 4);
  context.strokeStyle = options.dots ? colour("--line") : colour("--blue");
  context.lineWidth = options.dots ? 1 : 1.8;
  context.beginPath();
  points.forEach((point, i) => {
    if (i && options.stepped) context.lineTo(x(point[0]), y(points[i - 1][1]));
    context.lineTo(x(point[0]), y(point[1]));
  });
  if (options.stepped) context.lineTo(x(x1), y(points[points.length - 1][1]));
  context.stroke();
  if (options.dots) dots(context, points, x, y);
  const last = points[points.length - 1];
  canvas.setAttribute("aria-label", `${options.label}: now ${(options.say || short)(last[1])}`);
}

// A filled dot where the goal was reached, a ring where not: told apart by shape, not by colour alone.
function dots(context, points, x, y) {
  const size = points.length > 120 ? 1.7 : 3;
  for (const [px, py, filled] of points) {
    context.beginPath();
    context.arc(x(px), y(py), size, 0, 2 * Math.PI);
    context.fillStyle = colour("--accent");
    context.strokeStyle = filled ? colour("--accent") : colour("--quiet");
    if (filled) context.fill();
    context.stroke();
  }
}
