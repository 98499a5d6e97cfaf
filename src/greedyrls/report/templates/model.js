// The model of any size. Numbers come as text, written by the same code as the rest of the page.
const slider = byId("size-slider");
const numberBox = byId("size-number");
const watchers = []; // called with the size that is shown
let shownSize = data.chosen;

function nameOf(feature) {
  const full = feature.level === null ? feature.column : `${feature.column}=${feature.level}`;
  const name = element("span", feature.level === null ? "name" : "name has-level");
  if (full.length > 16) name.title = full;
  if (feature.level === null) {
    name.append(element("bdi", "", feature.column));
  } else {
    name.append(
      element("bdi", "column", feature.column),
      element("span", "equals", "="),
      element("bdi", "level", feature.level),
    );
  }
  return name;
}

// In the order of selection, but the levels of a column together.
function together(size, model) {
  const first = new Map();
  const nested = [...data.features.keys()].filter((place) => data.features[place].step <= size);
  const places = model.places ? [...model.places] : nested;
  for (const place of places) {
    const group = data.features[place].group;
    if (!first.has(group)) first.set(group, place);
  }
  const start = (place) => first.get(data.features[place].group);
  return places.sort((one, two) => start(one) - start(two) || one - two);
}

function swing(width) {
  const bar = drawn("rect", {
    class: width < 0 ? "minus" : "plus", x: Math.min(width, 0), width: Math.abs(width), height: 10,
  });
  const zero = drawn("path", { d: "M0 0V10", class: "zero" });
  const view = { viewBox: "-100 0 200 10", preserveAspectRatio: "none", class: "swing" };
  return drawn("svg", { ...view, "aria-hidden": "true", focusable: "false" }, bar, zero);
}

function rowOf(place, model, isContinued) {
  const feature = data.features[place];
  const head = element("th", "text", nameOf(feature));
  head.scope = "row";
  if (feature.isForced) head.append(" ", element("span", "tag", "given"));
  const row = element("tr", isContinued ? "continued" : "");
  row.append(element("td", "number step", String(feature.step)), head);
  const at = model.places ? model.places.indexOf(place) : place;
  const kinds = data.hasScales ? [model.own, model.standard] : [model.own];
  for (const kind of kinds) {
    for (const value of kind[at].split(" ")) row.append(element("td", "number", value));
  }
  if (model.intercepts.length === 1) row.append(element("td", "swing-cell", swing(model.bars[at])));
  return row;
}

function showTable(size, packed) {
  const model = { ...packed, own: packed.own.split(";"), standard: packed.standard.split(";") };
  let before = -1;
  const rows = together(size, model).map((place) => {
    const group = data.features[place].group;
    const row = rowOf(place, model, group === before);
    before = group;
    return row;
  });
  byId("model-rows").replaceChildren(...rows);
  for (const [kind, values] of [["own", model.intercepts], ["standard", model.standardIntercepts]]) {
    const cells = document.querySelectorAll(`[data-intercept="${kind}"]`);
    cells.forEach((cell, place) => { cell.textContent = values[place]; });
  }
}

function showSize(size) {
  const model = data.models[size];
  shownSize = size;
  slider.value = String(data.sizes.indexOf(size));
  slider.setAttribute("aria-valuetext", features(size));
  numberBox.value = String(size);
  byId("size-reset").disabled = size === data.chosen;
  byId("score").className = `score ${model.source.replace("_", "-")}`;
  byId("score-size").textContent = features(size);
  byId("score-chosen").hidden = size !== data.chosen;
  byId("score-measure").textContent = model.measure;
  byId("score-loss").textContent = model.loss;
  byId("score-source").textContent = data.sources[model.source];
  byId("model-penalty").textContent = model.penalty;
  byId("caption-size").textContent = features(size);
  showTable(size, model);
  watchers.forEach((watch) => watch(size));
}

// The nearest of the sizes whose model is in this file.
const nearest = (size) => data.sizes[closest(data.sizes, size)];

slider.addEventListener("input", () => showSize(data.sizes[Number(slider.value)]));
numberBox.addEventListener("change", () => {
  const wanted = Number.parseInt(numberBox.value, 10);
  showSize(Number.isNaN(wanted) ? shownSize : nearest(wanted));
});
byId("size-reset").addEventListener("click", () => showSize(data.chosen));
byId("control").addEventListener("submit", (event) => event.preventDefault());
