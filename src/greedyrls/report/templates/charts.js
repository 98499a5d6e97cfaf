// Over each drawing lies a probe: the mouse, a finger or the arrow keys move it from size to size.
function makeTip(drawing) {
  const tip = element("div", "tip");
  tip.hidden = true;
  drawing.append(tip);
  return tip;
}

// Shares of the width and the height of the drawing; the tip keeps to the side with more room, and
// within the drawing.
function showTip(tip, across, down, heading, lines) {
  const list = element("dl", "");
  for (const [label, value] of lines) {
    list.append(element("div", "", element("dt", "", label), element("dd", "", value)));
  }
  tip.replaceChildren(...(heading ? [element("strong", "", heading)] : []), list);
  tip.hidden = false;
  tip.style.left = "0"; // so that it has all the room it wants when it is measured
  const width = tip.parentElement.clientWidth;
  const wanted = across * width + (across > 0.5 ? -12 - tip.offsetWidth : 12);
  tip.style.left = `${within(wanted, 0, Math.max(0, width - tip.offsetWidth))}px`;
  tip.style.top = `${100 * down}%`;
}

// The browser's own tips would lie over ours; the words stay for those who cannot see the chart.
function withoutTitles(drawing) {
  const chart = drawing.querySelector("svg");
  chart.setAttribute("aria-label", chart.querySelector("title").textContent);
  chart.setAttribute("aria-describedby", chart.querySelector("desc").id);
  chart.removeAttribute("aria-labelledby");
  drawing.querySelectorAll("title").forEach((title) => title.remove());
}

function wholeName(size) {
  if (data.changes) return data.changes[size - 1];
  const added = data.features.filter((feature) => feature.step === size);
  const feature = added[0];
  return added.length > 1 || feature.level === null ? feature.column : `${feature.column}=${feature.level}`;
}

// `at` is an index among the sizes that are listed: all of them, unless the path is very long.
function addProbe(drawing, panel) {
  const places = panel.places[drawing.dataset.frame];
  const cursor = drawing.querySelector(".cursor");
  const width = drawing.querySelector("svg").viewBox.baseVal.width;
  const probe = element("div", "probe");
  const last = places.length - 1;
  let at = 0;
  withoutTitles(drawing);
  probe.tabIndex = 0;
  probe.setAttribute("role", "slider");
  probe.setAttribute("aria-label", "Number of features in the chart");
  probe.setAttribute("aria-valuemin", String(panel.sizes[0]));
  probe.setAttribute("aria-valuemax", String(panel.sizes[last]));
  drawing.append(probe);
  const tip = makeTip(drawing);

  function move(place) {
    at = within(place, 0, last);
    const size = panel.sizes[at];
    const told = panel.lines[at].map((line) => line.join(" ")).join("; ");
    probe.setAttribute("aria-valuenow", String(size));
    probe.setAttribute("aria-valuetext", `${features(size)}, the last one ${wholeName(size)}; ${told}`);
    cursor.setAttribute("x1", places[at] * width);
    cursor.setAttribute("x2", places[at] * width);
    // The chosen size has a line of its own.
    cursor.setAttribute("visibility", size === data.chosen ? "hidden" : "visible");
  }

  function tell(place) {
    move(place);
    const size = panel.sizes[at];
    showTip(tip, places[at], 0.13, `${size}: ${wholeName(size)}`, panel.lines[at]);
  }

  function moveTo(size) {
    move(closest(panel.sizes, size));
    // A model without features has no place on the chart.
    if (size === 0) cursor.setAttribute("visibility", "hidden");
  }

  function leave() {
    tip.hidden = true;
    moveTo(shownSize);
  }

  probe.addEventListener("pointermove", (event) => {
    const box = probe.getBoundingClientRect();
    tell(closest(places, (event.clientX - box.left) / box.width));
  });
  probe.addEventListener("pointerleave", leave);
  probe.addEventListener("blur", leave);
  probe.addEventListener("focus", () => { if (probe.matches(":focus-visible")) tell(at); });
  probe.addEventListener("click", () => showSize(nearest(panel.sizes[at])));
  probe.addEventListener("keydown", (event) => {
    const moves = {
      ArrowLeft: at - 1, ArrowDown: at - 1, ArrowRight: at + 1, ArrowUp: at + 1,
      PageDown: at - 10, PageUp: at + 10, Home: 0, End: last,
    };
    if (event.key in moves) tell(moves[event.key]);
    else if (event.key === "Enter" || event.key === " ") showSize(nearest(panel.sizes[at]));
    else if (event.key === "Escape") tip.hidden = true;
    else return;
    event.preventDefault();
  });
  watchers.push(moveTo);
  moveTo(shownSize);
}

document.querySelectorAll(".panel").forEach((figure) => {
  const panel = data.panels[Number(figure.dataset.panel)];
  figure.querySelectorAll(".drawing").forEach((drawing) => addProbe(drawing, panel));
});
