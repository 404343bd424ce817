"use strict";
const cases = [...document.querySelectorAll(".case")];
const chips = [...document.querySelectorAll(".chips [data-word]")];
const search = document.querySelector("input[type=search]");
const none = document.querySelector("#none");
const all = document.querySelector("#all");
const unfold = document.querySelector("#unfold");
const texts = new Map(cases.map((one) => [one, (one.id + " " + one.textContent).toLowerCase()]));
const press = (chip, on) => chip.setAttribute("aria-pressed", on);
const isPressed = (chip) => chip.getAttribute("aria-pressed") === "true";
function show() {
  const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
  const on = new Set(chips.filter(isPressed).map((chip) => chip.dataset.word));
  let shown = 0, others = 0;
  for (const one of cases) {
    const matches = words.every((word) => texts.get(one).includes(word));
    one.hidden = !matches || !on.has(one.dataset.word);
    shown += one.hidden ? 0 : 1;
    others += matches && one.hidden ? 1 : 0;
  }
  none.hidden = shown > 0;
  all.hidden = others === 0;
  all.textContent = `Show ${others} of other verdicts`;
}
function showAll() {
  for (const chip of chips) press(chip, true);
  show();
}
function find(text) {
  search.value = text;
  showAll();
  search.scrollIntoView({ block: "start" });
}
// the page of a link to one case opens it
function goTo() {
  const one = document.getElementById(decodeURIComponent(location.hash.slice(1)));
  if (!one || !cases.includes(one)) return;
  if (one.hidden) find("");
  one.open = true;
  one.scrollIntoView({ block: "center" });
}
for (const chip of chips) {
  chip.addEventListener("click", () => { press(chip, !isPressed(chip)); show(); });
}
all.addEventListener("click", showAll);
unfold.addEventListener("click", () => {
  const foldable = cases.filter((one) => !one.hidden && one.tagName === "DETAILS");
  const open = foldable.some((one) => !one.open);
  for (const one of foldable) one.open = open;
  unfold.textContent = open ? "close all" : "open all";
});
unfold.hidden = !document.querySelector("details.case");
search.addEventListener("input", show);
document.addEventListener("keydown", (event) => {
  if (event.key === "/" && document.activeElement !== search && !event.ctrlKey && !event.metaKey && !event.altKey) {
    event.preventDefault();
    search.focus();
    search.select();
  } else if (event.key === "Escape" && document.activeElement === search) {
    search.value = "";
    show();
  }
});
for (const place of document.querySelectorAll("[data-search]")) {
  place.addEventListener("click", () => find(place.dataset.search));
}
for (const button of document.querySelectorAll(".copy")) {
  const shown = button.nextElementSibling.nextElementSibling;
  button.addEventListener("click", async () => {
    const line = shown.textContent;
    try {
      await navigator.clipboard.writeText(line);
    } catch {
      // a page from a file may have no clipboard: mark the text instead
      getSelection().selectAllChildren(shown);
      return;
    }
    button.textContent = "copied";
    setTimeout(() => { button.textContent = "copy"; }, 1500);
  });
}
show();
goTo();
addEventListener("hashchange", goTo);
