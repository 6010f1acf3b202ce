"use strict";

const cards = [...document.querySelectorAll(".card")];
const store = `audit ${document.body.dataset.sheet}`;
const byId = (id) => document.getElementById(id);
let current = 0;
let unsaved = false;

const marked = (card) => card.querySelector("input:checked")?.value ?? "";
const marks = () => Object.fromEntries(cards.map((card) => [card.dataset.id, marked(card)]).filter(([, verdict]) => verdict));

// What was marked before is here again; a browser may forbid pages from files to keep anything.
try {
  const kept = JSON.parse(localStorage.getItem(store) ?? "{}");
  for (const card of cards) for (const input of card.querySelectorAll("input")) input.checked = kept[card.dataset.id] === input.value;
} catch {
  byId("forgetful").hidden = false;
}

function count() {
  const done = cards.filter(marked).length;
  byId("done").textContent = done;
  byId("progress").value = done;
}

function keep() {
  unsaved = true;
  byId("saved").textContent = "";
  try {
    localStorage.setItem(store, JSON.stringify(marks()));
  } catch {
    byId("forgetful").hidden = false;
  }
  count();
}

function go(place, moves = true) {
  if (place < 0 || place >= cards.length) return;
  cards[current].classList.remove("current");
  current = place;
  cards[current].classList.add("current");
  if (moves) {
    cards[current].scrollIntoView({ block: "start" });
    cards[current].focus({ preventScroll: true });
  }
}

// The next one after this place without a mark, or the first one.
function unmarked(after = current) {
  const open = cards.map((card, place) => (marked(card) ? -1 : place)).filter((place) => place >= 0);
  return open.find((place) => place > after) ?? open[0] ?? current;
}

function mark(choice) {
  cards[current].querySelectorAll("input").forEach((input, place) => { input.checked = place === choice; });
  keep();
  if (choice >= 0) go(unmarked());
}

function save() {
  const lines = ["id,verdict", ...Object.entries(marks()).map((pair) => pair.join(","))];
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([lines.join("\n") + "\n"], { type: "text/csv" }));
  link.download = "labels.csv";
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  unsaved = false;
  byId("saved").textContent = `– saved ${lines.length - 1}`;
}

const actions = {
  1: () => mark(0), 2: () => mark(1), 3: () => mark(2), 0: () => mark(-1),
  j: () => go(current + 1), k: () => go(current - 1), n: () => go(unmarked()), s: save,
};

document.addEventListener("keydown", (event) => {
  const action = actions[event.key.toLowerCase()];
  if (!action || event.ctrlKey || event.metaKey || event.altKey) return;
  event.preventDefault();
  action();
});
cards.forEach((card, place) => {
  card.addEventListener("change", keep);
  card.addEventListener("focusin", () => go(place, false));
  card.addEventListener("click", () => go(place, false));
});
byId("next").addEventListener("click", () => go(unmarked()));
byId("save").addEventListener("click", save);
addEventListener("beforeunload", (event) => { if (unsaved) event.preventDefault(); });
count();
if (cards.length) go(unmarked(-1), false);
