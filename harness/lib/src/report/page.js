"use strict";
const cases = [...document.querySelectorAll(".case")];
const chips = [...document.querySelectorAll(".chips button")];
const search = document.querySelector("input[type=search]");
const none = document.querySelector("#none");
const texts = new Map(cases.map((one) => [one, one.textContent.toLowerCase()]));
function show() {
  const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
  const on = new Set(chips.filter((chip) => chip.getAttribute("aria-pressed") === "true").map((chip) => chip.dataset.word));
  let shown = 0;
  for (const one of cases) {
    one.hidden = !on.has(one.dataset.word) || !words.every((word) => texts.get(one).includes(word));
    shown += one.hidden ? 0 : 1;
  }
  none.hidden = shown > 0;
}
for (const chip of chips) {
  chip.addEventListener("click", () => {
    chip.setAttribute("aria-pressed", chip.getAttribute("aria-pressed") !== "true");
    show();
  });
}
search.addEventListener("input", show);
for (const place of document.querySelectorAll("[data-search]")) {
  place.addEventListener("click", () => {
    search.value = place.dataset.search;
    for (const chip of chips) chip.setAttribute("aria-pressed", "true");
    show();
    search.scrollIntoView({ behavior: "smooth", block: "start" });
  });
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
