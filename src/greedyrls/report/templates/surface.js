// The heat map: the mouse or the arrow keys move from cell to cell.
function addCells(drawing, surface, losses) {
  const [left, top, right, bottom] = surface.areas[drawing.dataset.frame];
  const view = drawing.querySelector("svg").viewBox.baseVal;
  const cursor = drawing.querySelector(".heat-cursor");
  const rows = surface.penalties.length;
  const columns = surface.sizes.length;
  const probe = element("div", "probe");
  let [row, column] = surface.marked;
  withoutTitles(drawing);
  probe.tabIndex = 0;
  probe.setAttribute("role", "group");
  probe.setAttribute("aria-label", "Cells of the chart; the arrow keys move from one to the next");
  drawing.append(probe);
  const tip = makeTip(drawing);
  tip.setAttribute("aria-live", "polite");

  function tell(newRow, newColumn) {
    row = within(newRow, 0, rows - 1);
    column = within(newColumn, 0, columns - 1);
    const across = left + ((column + 0.5) / columns) * (right - left);
    const down = top + ((row + 0.5) / rows) * (bottom - top);
    cursor.setAttribute("x", (left + (column / columns) * (right - left)) * view.width);
    cursor.setAttribute("y", (top + (row / rows) * (bottom - top)) * view.height);
    cursor.setAttribute("visibility", "visible");
    const isChosen = row === surface.marked[0] && column === surface.marked[1];
    showTip(tip, across, Math.min(down + 0.05, 0.75), isChosen ? "chosen" : "", [
      ["penalty α", surface.penalties[row]],
      ["features", String(surface.sizes[column])],
      ["loss", losses[row][column]],
    ]);
  }

  function leave() {
    tip.hidden = true;
    cursor.setAttribute("visibility", "hidden");
  }

  probe.addEventListener("pointermove", (event) => {
    const box = probe.getBoundingClientRect();
    const across = (event.clientX - box.left) / box.width;
    const down = (event.clientY - box.top) / box.height;
    if (across < left || across > right || down < top || down > bottom) {
      leave();
      return;
    }
    tell(
      Math.floor(((down - top) / (bottom - top)) * rows),
      Math.floor(((across - left) / (right - left)) * columns),
    );
  });
  probe.addEventListener("pointerleave", leave);
  probe.addEventListener("blur", leave);
  probe.addEventListener("focus", () => { if (probe.matches(":focus-visible")) tell(row, column); });
  probe.addEventListener("keydown", (event) => {
    const moves = {
      ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0],
      Home: [0, -columns], End: [0, columns],
    };
    if (event.key in moves) tell(row + moves[event.key][0], column + moves[event.key][1]);
    else if (event.key === "Escape") leave();
    else return;
    event.preventDefault();
  });
}

if (data.surface) {
  const losses = data.surface.losses.map((line) => line.split("|"));
  document.querySelectorAll(".surface-figure .drawing").forEach((drawing) => {
    addCells(drawing, data.surface, losses);
  });
}
showSize(data.chosen);
