// Maps of U, Q and the variance: one byte a cell, in viridis, which the colour-blind can read, too.

const VIRIDIS = [
  [68, 1, 84], [72, 26, 108], [71, 47, 125], [65, 68, 135], [57, 86, 140], [49, 104, 142], [42, 120, 142],
  [35, 136, 142], [31, 152, 139], [34, 168, 132], [53, 183, 121], [84, 197, 104], [122, 209, 81],
  [165, 219, 54], [210, 226, 27], [253, 231, 37],
];

const PALETTE = (() => {
  const palette = new Uint8ClampedArray(256 * 4);
  for (let i = 0; i < 256; i += 1) {
    const at = (i / 255) * (VIRIDIS.length - 1), k = Math.min(Math.floor(at), VIRIDIS.length - 2), share = at - k;
    for (let c = 0; c < 3; c += 1) palette[4 * i + c] = VIRIDIS[k][c] * (1 - share) + VIRIDIS[k + 1][c] * share;
    palette[4 * i + 3] = 255;
  }
  return palette;
})();

function bytes(text) {
  return Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
}

// The cells as a small picture, row 0 at the bottom.
function picture(cells) {
  const side = Math.round(Math.sqrt(cells.length));
  const small = document.createElement("canvas");
  small.width = small.height = side;
  const context = small.getContext("2d"), image = context.createImageData(side, side);
  for (let row = 0; row < side; row += 1) {
    for (let column = 0; column < side; column += 1) {
      const from = 4 * cells[row * side + column], to = 4 * ((side - 1 - row) * side + column);
      image.data.set(PALETTE.subarray(from, from + 4), to);
    }
  }
  context.putImageData(image, 0, 0);
  return small;
}

function drawMap(canvas, panel, map, names) {
  const { context, width, height } = prepared(canvas);
  const left = 46, right = 72, top = 6, bottom = 34;
  const w = width - left - right, h = height - top - bottom;
  if (w < 20 || h < 20) return;
  context.imageSmoothingEnabled = true;
  context.drawImage(picture(bytes(panel.cells)), left, top, w, h);
  context.save();
  context.beginPath();
  context.rect(left, top, w, h);
  context.clip();
  map.paths.forEach((path, i) => trace(context, path, i, map.paths.length, { left, top, w, h }));
  context.restore();
  scale(context, panel, width - right + 10, top, h);
  context.fillStyle = colour("--quiet");
  context.textAlign = "left";
  context.fillText(short(map.low[0]), left, top + h + 14);
  context.textAlign = "right";
  context.fillText(short(map.high[0]), left + w, top + h + 14);
  context.fillText(short(map.high[1]), left - 4, top + 10);
  context.fillText(short(map.low[1]), left - 4, top + h);
  context.textAlign = "center";
  context.fillText(names[map.dims[0]], left + w / 2, top + h + 26);
  context.save();
  context.translate(12, top + h / 2);
  context.rotate(-Math.PI / 2);
  context.fillText(names[map.dims[1]], 0, 0);
  context.restore();
  canvas.setAttribute(
    "aria-label", `${canvas.id.slice(4)} from ${short(panel.low)} to ${short(panel.high)} over ` +
    `${names[map.dims[0]]} and ${names[map.dims[1]]}`);
}

// A trajectory: the last one in the accent with a dot where it is now, older ones white and fainter.
function trace(context, path, i, count, box) {
  const points = new Uint16Array(bytes(path).buffer), last = i === count - 1;
  if (points.length < 2) return;
  const x = (k) => box.left + (points[2 * k] / 65535) * box.w;
  const y = (k) => box.top + (1 - points[2 * k + 1] / 65535) * box.h;
  context.beginPath();
  for (let k = 0; k < points.length / 2; k += 1) context.lineTo(x(k), y(k));
  context.strokeStyle = last ? "#ff6a1f" : `rgba(255, 255, 255, ${0.15 + (0.5 * (i + 1)) / count})`;
  context.lineWidth = last ? 2 : 1;
  context.stroke();
  if (last) {
    context.beginPath();
    context.arc(x(points.length / 2 - 1), y(points.length / 2 - 1), 4.5, 0, 2 * Math.PI);
    context.fillStyle = "#ff6a1f";
    context.fill();
    context.strokeStyle = "#ffffff";
    context.stroke();
  }
}

// The bar beside a map that says what its colours mean.
function scale(context, panel, left, top, height) {
  const gradient = context.createLinearGradient(0, top + height, 0, top);
  VIRIDIS.forEach((rgb, i) => gradient.addColorStop(i / (VIRIDIS.length - 1), `rgb(${rgb.join()})`));
  context.fillStyle = gradient;
  context.fillRect(left, top, 10, height);
  context.fillStyle = colour("--quiet");
  context.textAlign = "left";
  context.fillText(short(panel.high), left + 14, top + 10);
  context.fillText(short(panel.low), left + 14, top + height);
}
