// Texts come from the data of others: they are only ever set as textContent, never as markup.
const data = JSON.parse(document.getElementById("report-data").textContent);
const root = document.documentElement;
const byId = (id) => document.getElementById(id);

function element(name, className, ...children) {
  const made = document.createElement(name);
  if (className) made.className = className;
  made.append(...children); // strings become text nodes
  return made;
}

function drawn(name, attributes, ...children) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children);
  return made;
}

const features = (count) => `${count} ${data.unit}${count === 1 ? "" : "s"}`;
// The place of the number that is nearest to one.
function closest(numbers, wanted) {
  let best = 0;
  numbers.forEach((number, place) => {
    if (Math.abs(number - wanted) < Math.abs(numbers[best] - wanted)) best = place;
  });
  return best;
}

const within = (value, low, high) => Math.min(Math.max(value, low), high);

// Light or dark: as the system says, until the button is pressed.
const button = byId("theme");
const system = window.matchMedia("(prefers-color-scheme: dark)");
const isDark = () => (root.dataset.theme ? root.dataset.theme === "dark" : system.matches);

function showTheme() {
  button.textContent = isDark() ? "Light" : "Dark";
  button.setAttribute("aria-label", `Switch to ${isDark() ? "light" : "dark"} colours`);
  button.setAttribute("aria-pressed", String(isDark()));
}

button.addEventListener("click", () => {
  root.dataset.theme = isDark() ? "light" : "dark";
  showTheme();
});
system.addEventListener("change", showTheme);
showTheme();
root.classList.add("js");
