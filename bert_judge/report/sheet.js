"use strict";

const cards = [...document.querySelectorAll(".card")];
const storageKey = `audit ${document.body.dataset.storageKey}`;
const byId = (id) => document.getElementById(id);
let current = 0;
let unsaved = false;

const labelOf = (card) => card.querySelector("input:checked")?.value ?? "";
const labels = () => Object.fromEntries(cards.map((card) => [card.dataset.id, labelOf(card)]).filter(([, verdict]) => verdict));

// Restore earlier labels; a browser may forbid storage for pages opened from files.
try {
  const stored = JSON.parse(localStorage.getItem(storageKey) ?? "{}");
  for (const card of cards) for (const input of card.querySelectorAll("input")) input.checked = stored[card.dataset.id] === input.value;
} catch {
  byId("no-storage").hidden = false;
}

function updateProgress() {
  const labelled = cards.filter(labelOf).length;
  byId("done").textContent = labelled;
  byId("progress").value = labelled;
}

function store() {
  unsaved = true;
  byId("saved").textContent = "";
  try {
    localStorage.setItem(storageKey, JSON.stringify(labels()));
  } catch {
    byId("no-storage").hidden = false;
  }
  updateProgress();
}

function select(index, scroll = true) {
  if (index < 0 || index >= cards.length) return;
  cards[current].classList.remove("current");
  current = index;
  cards[current].classList.add("current");
  if (scroll) {
    cards[current].scrollIntoView({ block: "start" });
    cards[current].focus({ preventScroll: true });
  }
}

// Index of the next card without a label, or of the first one.
function nextUnlabelled(after = current) {
  const open = cards.map((card, index) => (labelOf(card) ? -1 : index)).filter((index) => index >= 0);
  return open.find((index) => index > after) ?? open[0] ?? current;
}

function label(choice) {
  cards[current].querySelectorAll("input").forEach((input, index) => { input.checked = index === choice; });
  store();
  if (choice >= 0) select(nextUnlabelled());
}

function save() {
  const lines = ["id,rate,verdict", ...cards.filter(labelOf).map((card) => [card.dataset.id, card.dataset.rate, labelOf(card)].join(","))];
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([lines.join("\n") + "\n"], { type: "text/csv" }));
  link.download = "labels.csv";
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  unsaved = false;
  byId("saved").textContent = `– saved ${lines.length - 1}`;
}

const actions = {
  1: () => label(0), 2: () => label(1), 3: () => label(2), 0: () => label(-1),
  j: () => select(current + 1), k: () => select(current - 1), n: () => select(nextUnlabelled()), s: save,
};

document.addEventListener("keydown", (event) => {
  const action = actions[event.key.toLowerCase()];
  if (!action || event.ctrlKey || event.metaKey || event.altKey) return;
  event.preventDefault();
  action();
});
cards.forEach((card, index) => {
  card.addEventListener("change", store);
  card.addEventListener("focusin", () => select(index, false));
  card.addEventListener("click", () => select(index, false));
});
byId("next").addEventListener("click", () => select(nextUnlabelled()));
byId("save").addEventListener("click", save);
addEventListener("beforeunload", (event) => { if (unsaved) event.preventDefault(); });
updateProgress();
if (cards.length) select(nextUnlabelled(-1), false);
