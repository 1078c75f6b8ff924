// What a viewer may turn. Every change goes to the learner; the page shows what came of it.

const byId = (id) => document.getElementById(id);

// The slider is logarithmic from 0.001 to 1000, with 0 and infinity at its ends.
function kappaAt(position) {
  if (position <= 0) return 0;
  if (position >= 100) return "inf";
  return Number(Math.pow(10, ((position - 50) * 3) / 45).toPrecision(2));
}

function positionOf(kappa) {
  if (kappa === "inf") return 100;
  if (kappa <= 0) return 0;
  return Math.max(1, Math.min(99, Math.round(50 + (45 * Math.log10(kappa)) / 3)));
}

function formulaOf(kappa) {
  if (kappa === "inf") return "acts on U alone: it only explores";
  if (kappa === 0) return "acts on Q alone: it only exploits";
  return kappa === 1 ? "acts on Q + U" : `acts on Q + ${short(kappa)} U`;
}

let touched = 0; // when this viewer last moved the slider: it is not moved under the hand

function showKappa(kappa) {
  byId("kappa-now").textContent = short(kappa);
  byId("formula").textContent = formulaOf(kappa);
  byId("kappa").setAttribute("aria-valuetext", short(kappa));
  if (Date.now() - touched > 700) byId("kappa").value = positionOf(kappa);
  for (const button of document.querySelectorAll("[data-kappa]")) {
    button.setAttribute("aria-pressed", String(button.dataset.kappa === String(kappa)));
  }
}

function numberOf(text) {
  return text === "inf" ? "inf" : Number(text);
}

function wire(send) {
  byId("kappa").addEventListener("input", () => {
    touched = Date.now();
    const kappa = kappaAt(Number(byId("kappa").value));
    showKappa(kappa);
    send({ do: "kappa", kappa });
  });
  for (const button of document.querySelectorAll("[data-kappa]")) {
    button.addEventListener("click", () => send({ do: "kappa", kappa: numberOf(button.dataset.kappa) }));
  }
  for (const button of document.querySelectorAll("[data-test]")) {
    button.addEventListener("click", () => {
      send({ do: "test", episodes: Number(byId("tests").value), kappa: numberOf(button.dataset.test) });
    });
  }
  byId("pause").addEventListener("click", () => send({ do: byId("pause").dataset.do || "pause" }));
  byId("speed").addEventListener("change", () => send({ do: "speed", steps: numberOf(byId("speed").value) }));
  for (const name of ["step", "save", "load"]) byId(name).addEventListener("click", () => send({ do: name }));
  byId("reset").addEventListener("click", () => {
    if (confirm("Go back to the agent as it was when this page was started?")) send({ do: "reset" });
  });
  for (const id of ["dim-x", "dim-y"]) byId(id).addEventListener("change", () => chooseDims(id, send));
  byId("use-controller").addEventListener("click", () => {
    const inputs = [...byId("fields").querySelectorAll("input")];
    const fields = Object.fromEntries(inputs.map((input) => [input.name, Number(input.value)]));
    send({ do: "controller", name: byId("controller").value, fields });
  });
}

// Two different dimensions: where both would be the same, the other one takes the place that is free.
function chooseDims(changed, send) {
  const other = changed === "dim-x" ? "dim-y" : "dim-x";
  if (byId("dim-x").value === byId("dim-y").value) byId(other).value = byId(changed).dataset.was;
  send({ do: "view", dims: [Number(byId("dim-x").value), Number(byId("dim-y").value)] });
}

function showDims(dims) {
  ["dim-x", "dim-y"].forEach((id, i) => {
    if (document.activeElement !== byId(id)) byId(id).value = dims[i];
    byId(id).dataset.was = dims[i];
  });
}

function option(value, words) {
  const made = document.createElement("option");
  made.value = value;
  made.textContent = words;
  return made;
}

function offer(hello) {
  for (const id of ["dim-x", "dim-y"]) byId(id).replaceChildren(...hello.names.map((name, i) => option(i, name)));
  showDims([0, 1]);
  const rules = Object.entries(hello.controllers);
  byId("controller").replaceChildren(...rules.map(([name, [words]]) => option(name, words)));
  byId("controller").onchange = () => showFields(hello.controllers[byId("controller").value][1]);
  byId("controller").onchange();
}

function showFields(fields) {
  byId("fields").replaceChildren(...Object.entries(fields).map(([name, value]) => {
    const label = document.createElement("label"), input = document.createElement("input");
    Object.assign(input, { type: "number", name, value, step: "any" });
    label.append(name.replace("_", " ") + " ", input);
    return label;
  }));
}
