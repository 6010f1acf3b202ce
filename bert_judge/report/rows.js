"use strict";

// The rows: unpacked once, then searched, filtered and sorted here. What is shown stands in the address, so a link keeps it.
{
  const byId = (id) => document.getElementById(id);
  const VERDICTS = ["correct", "incorrect", "invalid"];
  const form = byId("filters");
  const dialog = byId("answer");
  let all, lowered, table, rows = [], current = null;

  const verdict = (i, judge) => Number(all.verdicts[judge][i]);
  const score = (i, judge) => { const found = all.scores[judge][i]; return found === undefined || found === null ? null : found / 1000; };
  const named = (i, name) => all.names[name][all[name][i]];
  const question = (i) => all.questions[all.question[i]];

  // What the table sorts by; the texts are the same ones, not copies.
  function row(i) {
    const made = { i, model: named(i, "model"), task: named(i, "task"), status: named(i, "status"), question: question(i)[0], answer: all.answer[i] };
    all.judges.forEach((_, judge) => { made[`judge${judge}`] = score(i, judge) ?? [1, 0, -1][verdict(i, judge)]; });
    return made;
  }

  async function unpacked(element) {
    const text = atob(element.textContent.trim());
    element.remove();
    const bytes = new Uint8Array(text.length);
    for (let i = 0; i < text.length; i++) bytes[i] = text.charCodeAt(i);
    return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"))).json();
  }

  const made = (tag, text, cls) => {
    const element = document.createElement(tag);
    if (text !== undefined) element.textContent = text;
    if (cls) element.className = cls;
    return element;
  };

  // --- what is asked for ---

  const tests = {
    split: (i) => all.verdicts.some((said) => said[i] === "0") && all.verdicts.some((said) => said[i] === "1"),
    errs: (i) => all.errs[i] === 1,
    invalid: (i) => all.verdicts.some((said) => said[i] === "2"),
  };

  function apply() {
    const asked = Object.fromEntries([...new FormData(form)].filter(([, value]) => value !== ""));
    const words = (asked.q ?? "").toLowerCase().trim();
    const wanted = all.judges.map((_, judge) => VERDICTS.indexOf(asked[`judge${judge}`])).map((v) => (v < 0 ? null : String(v)));
    const code = (name) => (name in asked ? all.names[name].indexOf(asked[name]) : null);
    const codes = { task: code("task"), model: code("model"), status: code("status") };
    const asks = words ? lowered.map((text) => text.includes(words)) : null;
    const fits = (i) => {
      for (const name in codes) if (codes[name] !== null && all[name][i] !== codes[name]) return false;
      for (let judge = 0; judge < wanted.length; judge++) if (wanted[judge] !== null && all.verdicts[judge][i] !== wanted[judge]) return false;
      if (asked.show && !tests[asked.show](i)) return false;
      return !asks || asks[all.question[i]] || all.answer[i].toLowerCase().includes(words);
    };
    table.setFilter((row) => fits(row.i));
  }

  // --- the address ---

  const inAddress = () => location.hash.startsWith("#rows?") ? new URLSearchParams(location.hash.slice(6)) : null;
  let silent = true;

  function remember() {
    if (silent) return;
    const found = new URLSearchParams([...new FormData(form)].filter(([, value]) => value !== ""));
    const [sorter] = table.getSorters();
    if (sorter) found.set("sort", `${sorter.field} ${sorter.dir}`);
    if (table.getPage() > 1) found.set("page", table.getPage());
    if (dialog.open && current !== null) found.set("row", current);
    history.replaceState(null, "", `#rows?${found}`);
  }

  async function recall() {
    const found = inAddress();
    if (!found) return;
    silent = true;
    for (const field of form.elements) if (field.name) field.value = found.get(field.name) ?? "";
    if ([...found.keys()].some((key) => key.startsWith("judge"))) form.querySelector("details").open = true;
    apply();
    const [field, direction] = (found.get("sort") ?? "").split(" ");
    if (field && table.getColumn(field)) table.setSort(field, direction);
    else table.clearSort();
    const page = Math.min(Number(found.get("page") ?? 1), table.getPageMax() || 1);
    if (page >= 1) await table.setPage(page);
    byId("rows").scrollIntoView({ behavior: "instant" });
    if (found.has("row") && Number(found.get("row")) in rows) show(Number(found.get("row")));
    silent = false;
  }

  // --- one answer whole ---

  function show(i) {
    current = i;
    byId("answer-where").replaceChildren(made("strong", named(i, "model")), ` on ${named(i, "task")}`, made("span", named(i, "status"), "status"));
    const parts = { question: [question(i)[0]], references: question(i)[1], text: [all.answer[i] || "(empty)"] };
    for (const [name, texts] of Object.entries(parts)) {
      byId(`answer-${name}`).replaceChildren(...texts.map((text) => {
        const block = made("div", text, "text");
        block.dir = "auto";
        return block;
      }));
    }
    byId("answer-verdicts").replaceChildren(...all.judges.map((judge, at) => {
      const said = VERDICTS[verdict(i, at)];
      const item = made("li", undefined, said);
      item.append(made("span", undefined, "sign"), `${judge}: ${said}`);
      if (score(i, at) !== null) item.append(" ", made("small", score(i, at).toFixed(2)));
      return item;
    }));
    if (!dialog.open) dialog.showModal();
    remember();
  }

  function step(by) {
    const shown = table.getRows("active").map((row) => row.getData().i);
    const next = shown[shown.indexOf(current) + by];
    if (next !== undefined) show(next);
  }

  // --- the table ---

  const clipped = (cell) => {
    const block = made("div", cell.getValue().slice(0, 240), "clip");
    block.dir = "auto";
    return block;
  };

  const sign = (judge) => (cell) => {
    const { i } = cell.getData();
    const said = VERDICTS[verdict(i, judge)];
    const block = made("span", undefined, `verdict ${said}`);
    block.append(made("span", undefined, "sign"));
    block.title = `${all.judges[judge]}: ${said}${score(i, judge) === null ? "" : ` ${score(i, judge).toFixed(2)}`}`;
    block.setAttribute("role", "img");
    block.setAttribute("aria-label", block.title);
    return block;
  };

  function columns() {
    const base = [
      { title: "Model", field: "model", widthGrow: 1, minWidth: 110, formatter: clipped, responsive: 0 },
      { title: "Task", field: "task", widthGrow: 1, minWidth: 100, formatter: clipped, responsive: 4, visible: all.names.task.length > 1 },
      { title: "Question", field: "question", widthGrow: 2, minWidth: 150, formatter: clipped, responsive: 3 },
      { title: "Answer", field: "answer", widthGrow: 2, minWidth: 130, formatter: clipped, responsive: 0 },
      { title: "Status", field: "status", width: 90, formatter: clipped, responsive: 5, visible: all.names.status.length > 1 },
    ];
    const narrow = { width: 40, headerVertical: true, hozAlign: "center", sorter: "number" };
    const judges = all.judges.map((title, at) => ({ ...narrow, title, field: `judge${at}`, formatter: sign(at), responsive: at < 2 ? 1 : 2 }));
    return [...base, ...judges];
  }

  function usable() {
    for (const heading of byId("answers").querySelectorAll(".tabulator-col.tabulator-sortable")) {
      heading.tabIndex = 0;
      heading.addEventListener("keydown", (event) => { if (event.key === "Enter") heading.click(); });
    }
  }

  async function start() {
    all = await unpacked(byId("packed"));
    lowered = all.questions.map(([question, references]) => `${question}\n${references.join("\n")}`.toLowerCase());
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
      placeholder: "No answer is like that.",
      rowFormatter: (row) => { row.getElement().tabIndex = 0; },
    });
    table.on("rowClick", (_, row) => show(row.getData().i));
    byId("answers").addEventListener("keydown", (event) => {
      const place = event.target.closest(".tabulator-row");
      if (place && event.key === "Enter") show(table.getRows("visible").find((row) => row.getElement() === place).getData().i);
    });
    table.on("dataFiltered", (_, found) => { byId("count").textContent = found.length.toLocaleString("en"); });
    table.on("tableBuilt", async () => {
      byId("loading").hidden = true;
      form.hidden = false;
      usable();
      byId("count").textContent = rows.length.toLocaleString("en");
      await recall();
      silent = false;
      for (const event of ["dataFiltered", "dataSorted", "pageLoaded"]) table.on(event, () => setTimeout(remember));
      document.documentElement.dataset.rows = "ready";
    });
    let waiting;
    form.addEventListener("input", (event) => {
      clearTimeout(waiting);
      waiting = setTimeout(apply, event.target.name === "q" ? 200 : 0);
    });
    form.addEventListener("reset", () => setTimeout(() => { table.clearSort(); apply(); }));
    form.addEventListener("submit", (event) => event.preventDefault());
    addEventListener("hashchange", recall);
    dialog.addEventListener("close", () => { current = null; remember(); });
    dialog.addEventListener("click", (event) => { if (event.target === dialog) dialog.close(); });
    const keys = { ArrowRight: 1, j: 1, ArrowLeft: -1, k: -1 };
    dialog.addEventListener("keydown", (event) => { if (event.key in keys) step(keys[event.key]); });
    byId("answer-next").addEventListener("click", () => step(1));
    byId("answer-before").addEventListener("click", () => step(-1));
    byId("answer-close").addEventListener("click", () => dialog.close());
  }

  if (byId("packed")) {
    if ("DecompressionStream" in window) start();
    else byId("loading").textContent = "This browser cannot unpack the rows; one of 2023 or later can.";
  }
}
