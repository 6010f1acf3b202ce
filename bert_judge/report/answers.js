"use strict";

// The table of answers: decompressed once, then searched, filtered and sorted in the browser. The URL stores filters, order and page.
{
  const byId = (id) => document.getElementById(id);
  const VERDICTS = ["correct", "incorrect", "invalid"];
  const form = byId("filters");
  const dialog = byId("answer");
  let all, searchTexts, table, rows = [], current = null;

  const verdict = (i, judge) => Number(all.verdicts[judge][i]);
  const score = (i, judge) => { const value = all.scores[judge][i] ?? null; return value === null ? null : value / 1000; };
  const nameOf = (i, name) => all.names[name][all[name][i]];
  const question = (i) => all.questions[all.question[i]];

  // A row of the table; its texts are shared, not copied.
  function row(i) {
    const fields = { i, model: nameOf(i, "model"), task: nameOf(i, "task"), status: nameOf(i, "status"), question: question(i)[0], answer: all.answer[i] };
    all.judges.forEach((_, judge) => { fields[`judge${judge}`] = score(i, judge) ?? [1, 0, -1][verdict(i, judge)]; });
    return fields;
  }

  async function decompress(element) {
    const text = atob(element.textContent.trim());
    element.remove();
    const bytes = new Uint8Array(text.length);
    for (let i = 0; i < text.length; i++) bytes[i] = text.charCodeAt(i);
    return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"))).json();
  }

  const createElement = (tag, text, cls) => {
    const element = document.createElement(tag);
    if (text !== undefined) element.textContent = text;
    if (cls) element.className = cls;
    return element;
  };

  // --- filters ---

  const tests = {
    split: (i) => all.verdicts.some((digits) => digits[i] === "0") && all.verdicts.some((digits) => digits[i] === "1"),
    errs: (i) => all.errs[i] === 1,
    invalid: (i) => all.verdicts.some((digits) => digits[i] === "2"),
  };

  function apply() {
    const filters = Object.fromEntries([...new FormData(form)].filter(([, value]) => value !== ""));
    const query = (filters.q ?? "").toLowerCase().trim();
    const verdictFilters = all.judges.map((_, judge) => VERDICTS.indexOf(filters[`judge${judge}`])).map((v) => (v < 0 ? null : String(v)));
    const code = (name) => (name in filters ? all.names[name].indexOf(filters[name]) : null);
    const codes = { task: code("task"), model: code("model"), status: code("status") };
    const questionMatches = query ? searchTexts.map((text) => text.includes(query)) : null;
    const matches = (i) => {
      for (const name in codes) if (codes[name] !== null && all[name][i] !== codes[name]) return false;
      for (let judge = 0; judge < verdictFilters.length; judge++) if (verdictFilters[judge] !== null && all.verdicts[judge][i] !== verdictFilters[judge]) return false;
      if (filters.show && !tests[filters.show](i)) return false;
      return !questionMatches || questionMatches[all.question[i]] || all.answer[i].toLowerCase().includes(query);
    };
    table.setFilter((row) => matches(row.i));
  }

  // --- URL ---

  const urlParameters = () => location.hash.startsWith("#rows?") ? new URLSearchParams(location.hash.slice(6)) : null;
  let restoring = true;

  function updateUrl() {
    if (restoring) return;
    const parameters = new URLSearchParams([...new FormData(form)].filter(([, value]) => value !== ""));
    const [sorter] = table.getSorters();
    if (sorter) parameters.set("sort", `${sorter.field} ${sorter.dir}`);
    if (table.getPage() > 1) parameters.set("page", table.getPage());
    if (dialog.open && current !== null) parameters.set("row", current);
    history.replaceState(null, "", `#rows?${parameters}`);
  }

  async function restoreFromUrl() {
    const parameters = urlParameters();
    if (!parameters) return;
    restoring = true;
    for (const field of form.elements) if (field.name) field.value = parameters.get(field.name) ?? "";
    if ([...parameters.keys()].some((key) => key.startsWith("judge"))) form.querySelector("details").open = true;
    apply();
    const [field, direction] = (parameters.get("sort") ?? "").split(" ");
    if (field && table.getColumn(field)) table.setSort(field, direction);
    else table.clearSort();
    const page = Math.min(Number(parameters.get("page") ?? 1), table.getPageMax() || 1);
    if (page >= 1) await table.setPage(page);
    byId("rows").scrollIntoView({ behavior: "instant" });
    if (parameters.has("row") && Number(parameters.get("row")) in rows) show(Number(parameters.get("row")));
    restoring = false;
  }

  // --- one answer in full ---

  function show(i) {
    current = i;
    byId("answer-where").replaceChildren(createElement("strong", nameOf(i, "model")), ` on ${nameOf(i, "task")}`, createElement("span", nameOf(i, "status"), "status"));
    const parts = { question: [question(i)[0]], references: question(i)[1], text: [all.answer[i] || "(empty)"] };
    for (const [name, texts] of Object.entries(parts)) {
      byId(`answer-${name}`).replaceChildren(...texts.map((text) => {
        const block = createElement("div", text, "text");
        block.dir = "auto";
        return block;
      }));
    }
    byId("answer-verdicts").replaceChildren(...all.judges.map((judge, index) => {
      const label = VERDICTS[verdict(i, index)];
      const item = createElement("li", undefined, label);
      item.append(createElement("span", undefined, "sign"), `${judge}: ${label}`);
      if (score(i, index) !== null) item.append(" ", createElement("small", score(i, index).toFixed(2)));
      return item;
    }));
    if (!dialog.open) dialog.showModal();
    updateUrl();
  }

  function step(offset) {
    const visible = table.getRows("active").map((row) => row.getData().i);
    const next = visible[visible.indexOf(current) + offset];
    if (next !== undefined) show(next);
  }

  // --- the table ---

  const clippedText = (cell) => {
    const block = createElement("div", undefined, "clip");
    // A name such as multiple_choice_test is broken after an underscore.
    for (const part of cell.getValue().slice(0, 240).split(/(?<=_)/)) block.append(part, document.createElement("wbr"));
    block.dir = "auto";
    return block;
  };

  const verdictSign = (judge) => (cell) => {
    const { i } = cell.getData();
    const label = VERDICTS[verdict(i, judge)];
    const block = createElement("span", undefined, `verdict ${label}`);
    block.append(createElement("span", undefined, "sign"));
    block.title = `${all.judges[judge]}: ${label}${score(i, judge) === null ? "" : ` ${score(i, judge).toFixed(2)}`}`;
    block.setAttribute("role", "img");
    block.setAttribute("aria-label", block.title);
    return block;
  };

  function columns() {
    const base = [
      { title: "Model", field: "model", widthGrow: 1, minWidth: 110, formatter: clippedText, responsive: 0 },
      { title: "Task", field: "task", widthGrow: 1, minWidth: 110, formatter: clippedText, responsive: 4, visible: all.names.task.length > 1 },
      { title: "Question", field: "question", widthGrow: 2, minWidth: 150, formatter: clippedText, responsive: 3 },
      { title: "Answer", field: "answer", widthGrow: 2, minWidth: 130, formatter: clippedText, responsive: 0 },
      { title: "Status", field: "status", width: 90, formatter: clippedText, responsive: 5, visible: all.names.status.length > 1 },
    ];
    // Tabulator takes a title for HTML without a formatter.
    const narrow = { width: 40, headerVertical: "flip", hozAlign: "center", sorter: "number", titleFormatter: "plaintext" };
    const judges = all.judges.map((title, index) => ({ ...narrow, title, field: `judge${index}`, formatter: verdictSign(index), responsive: 0 }));
    return [...base, ...judges];
  }

  function makeHeadingsFocusable() {
    for (const heading of byId("answers").querySelectorAll(".tabulator-col.tabulator-sortable")) {
      heading.tabIndex = 0;
      heading.addEventListener("keydown", (event) => { if (event.key === "Enter") heading.click(); });
    }
  }

  async function start() {
    all = await decompress(byId("packed-answers"));
    searchTexts = all.questions.map(([question, references]) => `${question}\n${references.join("\n")}`.toLowerCase());
    rows = all.answer.map((_, i) => row(i));
    for (const [name, names] of Object.entries(all.names)) {
      form.elements[name].append(...names.map((text) => new Option(text, text)));
      form.elements[name].closest("label").hidden = names.length < 2;
    }
    table = new Tabulator("#answers", {
      data: rows,
      columns: columns(),
      layout: "fitColumns",
      responsiveLayout: "hide",
      nestedFieldSeparator: false,
      pagination: true,
      paginationSize: 25,
      paginationSizeSelector: [25, 50, 100],
      paginationCounter: "rows",
      placeholder: "No answer matches.",
      rowFormatter: (row) => { row.getElement().tabIndex = 0; },
    });
    table.on("rowClick", (_, row) => show(row.getData().i));
    byId("answers").addEventListener("keydown", (event) => {
      const place = event.target.closest(".tabulator-row");
      if (place && event.key === "Enter") show(table.getRows("visible").find((row) => row.getElement() === place).getData().i);
    });
    table.on("dataFiltered", (_, matching) => { byId("count").textContent = matching.length.toLocaleString("en"); });
    table.on("tableBuilt", async () => {
      byId("loading").hidden = true;
      form.hidden = false;
      makeHeadingsFocusable();
      byId("count").textContent = rows.length.toLocaleString("en");
      await restoreFromUrl();
      restoring = false;
      for (const event of ["dataFiltered", "dataSorted", "pageLoaded"]) table.on(event, () => setTimeout(updateUrl));
      document.documentElement.dataset.rows = "ready";
    });
    let timer;
    form.addEventListener("input", (event) => {
      clearTimeout(timer);
      timer = setTimeout(apply, event.target.name === "q" ? 200 : 0);
    });
    form.addEventListener("reset", () => setTimeout(() => { table.clearSort(); apply(); }));
    form.addEventListener("submit", (event) => event.preventDefault());
    addEventListener("hashchange", restoreFromUrl);
    dialog.addEventListener("close", () => { current = null; updateUrl(); });
    dialog.addEventListener("click", (event) => { if (event.target === dialog) dialog.close(); });
    const keys = { ArrowRight: 1, j: 1, ArrowLeft: -1, k: -1 };
    dialog.addEventListener("keydown", (event) => { if (event.key in keys) step(keys[event.key]); });
    byId("answer-next").addEventListener("click", () => step(1));
    byId("answer-previous").addEventListener("click", () => step(-1));
    byId("answer-close").addEventListener("click", () => dialog.close());
  }

  if (byId("packed-answers")) {
    if ("DecompressionStream" in window) start();
    else byId("loading").textContent = "This browser cannot decompress the answers; use one released in 2023 or later.";
  }
}
