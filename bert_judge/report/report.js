"use strict";

// Turn the headings of sortable tables into buttons. Numbers sort by data-value, largest first; texts alphabetically; missing values last.
for (const table of document.querySelectorAll("table.sortable")) {
  table.querySelectorAll("thead th").forEach((heading, column) => {
    const button = document.createElement("button");
    button.type = "button";
    button.append(...heading.childNodes);
    heading.append(button);
    button.addEventListener("click", () => sort(table, heading, column));
  });
}

function sort(table, heading, column) {
  const numeric = heading.classList.contains("number");
  const previous = heading.getAttribute("aria-sort");
  const descending = previous ? previous === "ascending" : numeric;
  for (const other of table.querySelectorAll("th[aria-sort]")) other.removeAttribute("aria-sort");
  heading.setAttribute("aria-sort", descending ? "descending" : "ascending");
  const value = (row) => (numeric ? row.cells[column].dataset.value : row.cells[column].textContent);
  const body = table.tBodies[0];
  const rows = [...body.rows].sort((a, b) => {
    const [x, y] = [value(a), value(b)];
    if (x === "" || y === "") return (x === "") - (y === "");
    return (numeric ? x - y : x.localeCompare(y)) * (descending ? -1 : 1);
  });
  body.append(...rows);
}

// Show one task at a time; without this script all rows are visible.
for (const select of document.querySelectorAll("select[data-filter]")) {
  const rows = document.getElementById(select.dataset.filter).tBodies[0].rows;
  const filter = () => {
    for (const row of rows) row.hidden = select.value !== "" && row.dataset.group !== select.value;
  };
  select.closest("[hidden]").hidden = false;
  select.addEventListener("change", filter);
  filter();
}

// A click or a tap on a cell with further numbers shows them at the foot of the page; a pointer shows them as a tooltip.
const detail = document.getElementById("detail");
document.addEventListener("click", ({ target }) => {
  const cell = target.closest("td[title], .row[title]");
  const hiddenLines = [...(target.closest("td.number")?.querySelectorAll("small.wrap") ?? [])].filter((line) => !line.offsetParent);
  const text = [cell?.title, ...hiddenLines.map((line) => line.textContent)].filter(Boolean).join("; ");
  detail.hidden = !text;
  detail.textContent = text;
});

// Say where a table continues beyond the edge, until it is scrolled to its end.
function markCutOff(element) {
  element.classList.toggle("cut-off", element.scrollLeft + element.clientWidth < element.scrollWidth - 1);
}
const sizes = new ResizeObserver((entries) => entries.forEach(({ target }) => markCutOff(target)));
for (const element of document.querySelectorAll(".scroll")) {
  sizes.observe(element);
  element.addEventListener("scroll", () => markCutOff(element), { passive: true });
}
