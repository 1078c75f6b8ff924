// The connection, and what comes over it. A lost one is taken up again, for as long as the page is open.

const AGAIN = 1000; // milliseconds until the next attempt
let socket = null, names = [], map = null, state = null;

function send(message) {
  if (socket && socket.readyState === WebSocket.OPEN) socket.send(JSON.stringify(message));
}

function connect() {
  socket = new WebSocket(`ws://${location.host}/socket${location.search}`);
  socket.onopen = () => connection("on", "Connected");
  socket.onmessage = (event) => {
    const message = JSON.parse(event.data);
    RECEIVE[message.kind](message);
  };
  socket.onclose = () => {
    connection("off", "Not connected: trying again");
    setTimeout(connect, AGAIN);
  };
}

function connection(kind, words) {
  const shown = byId("connection");
  if (shown.textContent !== words) shown.textContent = words;
  shown.className = kind;
}

const RECEIVE = {
  hello(message) {
    names = message.names;
    offer(message);
    byId("map-grid").hidden = message.dims < 2;
    byId("no-map").hidden = message.dims >= 2;
  },
  refused(message) {
    byId("waiting").textContent = `Refused: ${message.why}`;
  },
  frame(message) {
    byId("frame").src = `data:image/png;base64,${message.png}`;
    byId("frame").hidden = false;
    byId("no-frame").hidden = true;
  },
  map(message) {
    map = message;
    drawMaps();
  },
  state(message) {
    state = message;
    showState();
    drawCharts();
  },
};

function drawMaps() {
  if (map === null) return;
  for (const name of ["u", "q", "variance"]) drawMap(byId(`map-${name}`), map.panels[name], map, names);
}

function showState() {
  for (const name of ["episodes", "steps", "goals"]) byId(name).textContent = state[name].toLocaleString("en");
  byId("rate").textContent = state.paused ? "paused" : short(Math.round(state.rate));
  const left = state.uncertainty.length ? state.uncertainty[state.uncertainty.length - 1][1] : null;
  byId("left").textContent = left === null ? "not measured" : `${(100 * left).toFixed(1)}%`;
  showKappa(state.kappa);
  byId("set-by").textContent = state.controller === "Constant" ? "Set by hand." : `Set by the rule ${state.set_by}.`;
  byId("pause").textContent = state.paused ? "Go on" : "Pause";
  byId("pause").dataset.do = state.paused ? "go on" : "pause";
  byId("load").disabled = !state.checkpoint;
  if (document.activeElement !== byId("speed")) byId("speed").value = String(state.speed);
  showDims(state.dims);
  byId("no-frame").textContent = state.no_picture ? `No picture: ${state.no_picture}` : "Waiting for a picture";
  byId("waiting").textContent = state.waiting.length
    ? `At the end of this episode: ${state.waiting.join(", ")}${state.paused ? " (press Go on)" : ""}` : "";
  const notes = state.notes.slice().reverse();
  if (byId("notes").textContent !== notes.join("")) {
    byId("notes").replaceChildren(...notes.map((text) => {
      const item = document.createElement("li");
      item.textContent = text;
      return item;
    }));
  }
}

function drawCharts() {
  if (state === null) return;
  const { per, length, goal } = state.history;
  const over = (values) => values.map((value, i) => [i * per + 1, value, goal[i] >= 0.5]);
  const episodes = { first: 1, dots: true };
  chart(byId("chart-length"), over(length), { ...episodes, low: 0, label: "Steps of each episode", empty: "No episode is over yet" });
  chart(byId("chart-return"), over(state.history.return), { ...episodes, label: "Return of each episode", empty: "No episode is over yet" });
  const percent = (value) => `${Math.round(100 * value)}%`;
  chart(byId("chart-left"), state.uncertainty, {
    first: 0, last: state.steps, low: 0, high: 1, say: percent, label: "Uncertainty left", empty: "Not measured for this agent",
    ticks: [0, 0.5, 1].map((value) => [value, percent(value)]),
  });
  chart(byId("chart-kappa"), state.kappas.map(([steps, kappa]) => [steps, positionOf(kappa)]), {
    first: 0, last: state.steps, low: 0, high: 100, stepped: true, label: "kappa",
    say: (position) => short(kappaAt(position)),
    ticks: [[0, "0"], [50, "1"], [100, "∞"]],
  });
}

wire(send);
showKappa(1);
connect();
addEventListener("resize", () => { drawMaps(); drawCharts(); });
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => { drawMaps(); drawCharts(); });
