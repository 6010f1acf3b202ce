"use strict";
// Texts of clients and judges are only ever set as text, never as markup.

const SIGNS = { correct: "✓", incorrect: "✗", invalid: "?" };
// Score differences below this are shown as a tie.
const TIE_MARGIN = 0.005;
// Rows of a file per request, and rows of it that are shown.
const ROWS_PER_REQUEST = 200;
const SHOWN_ROWS = 100;
// Judges that are selected at first, or the first one where the server has none of them.
const SELECTED = ["general", "exact_match"];
const EXAMPLES = {
  "right, in other words": ["How far is it from London to Edinburgh by air?", "534 km", "About 332 miles, as the crow flies.", ""],
  "almost right": ["When did the Titanic sink?", "15 April 1912", "On 15 April 1913, in the early morning.", ""],
  "two answers": ["Who wrote Faust?", "Goethe\nJohann Wolfgang von Goethe", "It was written by Goethe.", "Schiller."],
};
// Part of a row → names that its column may have.
const COLUMNS = {
  question: ["question", "prompt", "input", "query", "problem"],
  references: ["references", "reference", "gold", "target", "ideal", "expected", "correct_answer"],
  candidate: ["candidate", "answer", "response", "output", "prediction", "completion"],
};
const MODEL_COLUMNS = ["model", "model_name", "system"];
// Judge → threshold and meaning of its scores, from the server.
let meanings = {};
const value = (id) => document.getElementById(id).value;
const score = (number) => (number === null ? "–" : number.toFixed(3));

async function call(path, body) {
  const request = { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) };
  const response = await fetch(path, body && request);
  const content = await response.json();
  if (!response.ok) throw new Error(content.error);
  return content;
}

function element(tag, text, className = "") {
  return Object.assign(document.createElement(tag), { textContent: text, className });
}

function verdict(label) {
  return element("span", `${SIGNS[label.verdict]} ${label.verdict}`, `verdict ${label.verdict}`);
}

// The score, beside its threshold if it is a similarity.
function scoreText(judge, label) {
  const { threshold, is_probability } = meanings[judge] ?? {};
  if (label.score === null || is_probability || threshold == null) return score(label.score) + (label.certain === false ? " uncertain" : "");
  return `${score(label.score)} ${label.score >= threshold ? "≥" : "<"} ${threshold}`;
}

function scored(judge, label) {
  const cell = document.createElement("span");
  cell.append(verdict(label), ` ${scoreText(judge, label)}`);
  return cell;
}

function explain(label) {
  const grades = Object.entries(label.aspects ?? {}).map(([aspect, grade]) => `${aspect} ${grade}`).join(", ");
  // The reply of a language model; of other judges, the reason says what they read.
  const reply = label.completion_tokens && label.raw ? `“${label.raw}”` : "";
  return [[grades, label.reason, reply].filter(Boolean).join(": "), label.truncated ? "input truncated" : ""].filter(Boolean).join("; ");
}

// Say what the scores of the judges in a table are.
function noteScores(judges) {
  const sure = judges.filter((name) => meanings[name]?.is_probability);
  const similar = judges.filter((name) => meanings[name]?.threshold != null && !meanings[name].is_probability);
  document.getElementById("meaning").textContent = [
    sure.length ? `The score of ${sure.join(", ")} is how sure the judge is that the answer is correct, from 0 to 1.` : "",
    similar.length ? `The score of ${similar.join(", ")} is compared with the threshold behind it.` : "",
  ].join(" ");
}

async function judgeRow(judge, question, references, candidate) {
  const label = await call("v1/judge", { judge, question, references, candidate });
  checkReference(label, references);
  return [judge, verdict(label), scoreText(judge, label), explain(label)];
}

function checkReference(label, references) {
  if (references.length || label.reason !== "no reference") return;
  throw new Error("no reference given; enter one per line, or select judges that need none");
}

async function pairRow(judge, question, references, answers) {
  const preference = await call("v1/judge", { judge, question, references, answer_a: answers[0], answer_b: answers[1] });
  const undecided = ["inconsistent", "invalid"].includes(preference.verdict);
  const orders = `A first: ${preference.forward}; B first: ${preference.backward}`;
  const other = preference.score === null ? null : 1 - preference.score;
  return [judge, undecided ? "cannot tell" : preference.verdict, score(preference.score), score(other), preference.reason ?? orders];
}

async function compareRow(judge, question, references, answers) {
  const rows = answers.map((candidate) => ({ question, references, candidate }));
  const [a, b] = (await call("v1/judge", { judge, rows })).labels;
  checkReference(a, references);
  const isTie = Math.abs(a.score - b.score) < TIE_MARGIN;
  const better = a.score === null || b.score === null ? "cannot tell" : isTie ? "tie" : a.score > b.score ? "A" : "B";
  const why = ["A", "B"].map((name, place) => [name, explain([a, b][place])]).filter(([, text]) => text);
  return [judge, better, scored(judge, a), scored(judge, b), why.map((parts) => parts.join(": ")).join("\n")];
}

// The places of scores, from 1; equally good answers share one.
function ranked(scores) {
  return scores.map((own) => (own === null ? "–" : 1 + scores.filter((other) => other !== null && other > own + TIE_MARGIN).length));
}

// Rank more than two answers: by their scores, or by the share of the comparisons that each wins.
async function rankRow(judge, isPairwise, question, references, answers) {
  let scores;
  if (isPairwise) {
    const places = answers.flatMap((_, a) => answers.slice(a + 1).map((_, after) => [a, a + 1 + after]));
    const pairs = places.map(([a, b]) => ({ question, references, answer_a: answers[a], answer_b: answers[b] }));
    const wins = answers.map(() => []);
    (await call("v1/judge", { judge, pairs })).preferences.forEach(({ verdict }, number) => {
      if (verdict === "invalid") return;
      const won = { A: 1, B: 0 }[verdict] ?? 0.5;
      wins[places[number][0]].push(won);
      wins[places[number][1]].push(1 - won);
    });
    scores = wins.map((won) => (won.length ? won.reduce((sum, each) => sum + each) / won.length : null));
  } else {
    const rows = answers.map((candidate) => ({ question, references, candidate }));
    const { labels } = await call("v1/judge", { judge, rows });
    checkReference(labels[0], references);
    scores = labels.map((label) => label.score);
  }
  return [judge, ...ranked(scores).map((rank, place) => `${rank} (${score(scores[place])})`)];
}

function fill(headings, rows, table = "verdicts") {
  const [head, body] = document.getElementById(table).children;
  document.getElementById(table).dataset.last = headings.at(-1);
  document.getElementById(table).dataset.columns = headings.length;
  const line = (cells, tag) => {
    const row = document.createElement("tr");
    for (const cell of cells) {
      const field = document.createElement(tag);
      field.append(cell);
      row.append(field);
    }
    return row;
  };
  head.replaceChildren(line(headings, "th"));
  body.replaceChildren(...rows.map((cells) => line(cells, "td")));
}

async function judge(pairJudges) {
  const selected = [...document.querySelectorAll("#judges input:checked")].map((box) => box.value);
  const references = value("references").split("\n").map((text) => text.trim()).filter(Boolean);
  const answers = [...document.querySelectorAll("#answers textarea")].map((box) => box.value);
  while (answers.length > 1 && !answers.at(-1).trim()) answers.pop();
  const comparing = answers.length > 1;
  const single = selected.filter((name) => !pairJudges.includes(name));
  const pairs = comparing ? selected.filter((name) => pairJudges.includes(name)) : [];
  if (!single.length && !pairs.length) throw new Error("no judge selected; select at least one");
  const history = value("history").trim();
  const question = history ? `Conversation so far:\n${history}\n\nQuestion: ${value("question")}` : value("question");
  noteScores(single);
  if (!comparing) {
    const rows = await Promise.all(single.map((name) => judgeRow(name, question, references, answers[0])));
    return fill(["judge", "verdict", "score", "why"], rows);
  }
  if (answers.length > 2) {
    const rows = [...pairs, ...single].map((name) => rankRow(name, pairJudges.includes(name), question, references, answers));
    return fill(["judge", ...answers.map((_, place) => `rank ${place + 1} (score)`)], await Promise.all(rows));
  }
  const rows = [
    ...pairs.map((name) => pairRow(name, question, references, answers)),
    ...single.map((name) => compareRow(name, question, references, answers)),
  ];
  return fill(["judge", "better", "answer A", "answer B", "why"], await Promise.all(rows));
}

// Split CSV with quotes into records; the separator is the one that the first line has most of.
function parseCsv(text) {
  const [first] = text.split("\n", 1);
  const [separator] = [",", ";", "\t"].sort((a, b) => first.split(b).length - first.split(a).length);
  const lines = [[""]];
  let quoted = false;
  for (let at = 0; at < text.length; at++) {
    const [sign, line] = [text[at], lines.at(-1)];
    if (sign === '"') {
      if (quoted && text[at + 1] === '"') line[line.length - 1] += text[at++];
      else quoted = !quoted;
    } else if (quoted || ![separator, "\n", "\r"].includes(sign)) line[line.length - 1] += sign;
    else if (sign === separator) line.push("");
    else if (sign === "\n") lines.push([""]);
  }
  const [header, ...rows] = lines.filter((line) => line.length > 1 || line[0]);
  return rows.map((cells) => Object.fromEntries(header.map((name, place) => [name, cells[place] ?? ""])));
}

const toCsv = (records) => {
  const quote = (cell) => `"${String(cell ?? "").replaceAll('"', '""')}"`;
  const names = Object.keys(records[0]);
  return [names, ...records.map((record) => names.map((name) => record[name]))].map((cells) => cells.map(quote).join(",")).join("\n");
};

function readRecords(name, text) {
  const lines = text.replace(/^\uFEFF/, "");
  if (!name.endsWith(".jsonl")) return parseCsv(lines);
  return lines.split("\n").filter((line) => line.trim()).map((line) => JSON.parse(line));
}

// Judge the answers of a file with the first selected judge, and offer the file with verdicts for download.
async function judgeFile(file, pairJudges) {
  const records = readRecords(file.name, await file.text());
  const names = Object.keys(records[0] ?? {});
  const columns = Object.fromEntries(Object.entries(COLUMNS).map(([part, known]) => [part, known.find((name) => names.includes(name))]));
  const missing = Object.keys(COLUMNS).find((part) => !columns[part]);
  if (missing) throw new Error(`${file.name}: no column for the ${missing}; name one ${COLUMNS[missing].join(" or ")} (found: ${names.join(", ") || "none"})`);
  const selected = [...document.querySelectorAll("#judges input:checked")].map((box) => box.value);
  const judge = selected.find((name) => !pairJudges.includes(name));
  if (!judge) throw new Error("no judge of single answers selected; select one");
  const summary = document.getElementById("summary");
  const text = (cell) => (Array.isArray(cell) ? cell.map(String) : String(cell ?? ""));
  const labels = [];
  for (let start = 0; start < records.length; start += ROWS_PER_REQUEST) {
    const part = records.slice(start, start + ROWS_PER_REQUEST);
    const rows = part.map((record) => Object.fromEntries(Object.entries(columns).map(([name, column]) => [name, text(record[column])])));
    labels.push(...(await call("v1/judge", { judge, rows })).labels);
    summary.textContent = `${labels.length} of ${records.length} answers judged`;
  }
  const correct = labels.filter((label) => label.verdict === "correct").length;
  summary.textContent = `${judge}: ${correct} of ${labels.length} answers are correct (${((100 * correct) / labels.length).toFixed(1)}%). `;
  const added = ["verdict", "outcome", "score", "certain", "reason"];
  const scoredRecords = records.map((record, place) => ({ ...record, ...Object.fromEntries(added.map((name) => [name, labels[place][name]])) }));
  const link = element("a", "Save with verdicts");
  link.href = URL.createObjectURL(new Blob([toCsv(scoredRecords)], { type: "text/csv" }));
  link.download = file.name.replace(/\.\w+$/, ".scored.csv");
  const sort = Object.assign(element("button", "Uncertain first"), { type: "button" });
  summary.append(link, " ", sort);
  const model = MODEL_COLUMNS.find((name) => names.includes(name));
  const headings = ["question", "reference", "answer", ...(model ? ["model"] : []), "verdict", "reason"];
  const places = records.map((_, place) => place);
  const show = () => fill(headings, places.slice(0, SHOWN_ROWS).map((place) => {
    const cells = ["question", "references", "candidate"].map((name) => [text(records[place][columns[name]])].flat().join(" or "));
    return [...cells, ...(model ? [text(records[place][model])] : []), scored(judge, labels[place]), explain(labels[place])];
  }), "rows");
  sort.addEventListener("click", () => {
    places.sort((a, b) => uncertainty(judge, labels[b]) - uncertainty(judge, labels[a]) || a - b);
    show();
  });
  noteScores([judge]);
  show();
  if (records.length > SHOWN_ROWS) summary.append(` The first ${SHOWN_ROWS} rows are shown.`);
}

// How doubtful a verdict is: invalid ones first, then what the judge calls uncertain, then scores near the threshold.
function uncertainty(judge, label) {
  if (label.score === null) return 3;
  return (label.certain === false ? 1 : 0) + 1 - Math.abs(label.score - (meanings[judge]?.threshold ?? 0.5));
}

function showExample([question, references, answer, other]) {
  const texts = { question, references, answer, other };
  for (const [id, text] of Object.entries(texts)) document.getElementById(id).value = text;
}

function addAnswer() {
  const boxes = document.getElementById("answers");
  const label = element("label", `Answer ${boxes.children.length + 1} (optional) `);
  label.append(Object.assign(document.createElement("textarea"), { rows: 3 }));
  boxes.append(label);
}

// The picture stays in the browser: judges read texts.
function showImage(file) {
  const [picture, reader] = [document.getElementById("picture"), new FileReader()];
  picture.hidden = !file;
  reader.addEventListener("load", () => { picture.src = reader.result; });
  if (file) reader.readAsDataURL(file);
}

async function showErrors(work) {
  const error = document.getElementById("error");
  error.textContent = "";
  try {
    await work();
  } catch (problem) {
    error.textContent = problem.message;
  }
}

// Offer the judges, in groups by the kind of answers that they are for.
function listJudges({ pointwise, pairwise }) {
  const isDefault = (name) => SELECTED.includes(name) || (!pointwise.some((other) => SELECTED.includes(other)) && name === pointwise[0]);
  const groups = { "": pointwise.filter((name) => isDefault(name) || !meanings[name]?.suits), "two answers": pairwise };
  for (const name of pointwise.filter((each) => !groups[""].includes(each))) (groups[meanings[name].suits] ??= []).push(name);
  for (const [kind, names] of Object.entries(groups)) {
    if (!names.length) continue;
    const group = element("div", kind && `For ${kind}: `);
    for (const name of names) {
      const checked = isDefault(name) || name === pairwise[0];
      const label = document.createElement("label");
      label.append(Object.assign(document.createElement("input"), { type: "checkbox", value: name, checked }), ` ${name}`);
      group.append(label);
    }
    document.getElementById("judges").append(group);
  }
}

async function start() {
  const judges = await call("v1/judges");
  meanings = judges.scores;
  listJudges(judges);
  for (const [name, texts] of Object.entries(EXAMPLES)) {
    const button = Object.assign(element("button", name), { type: "button" });
    button.addEventListener("click", () => {
      showExample(texts);
      showErrors(() => judge(judges.pairwise));
    });
    document.getElementById("examples").append(button);
  }
  showExample(["What is the capital of France?", "Paris", "It is Paris, I believe.", ""]);
  document.getElementById("file").addEventListener("change", (event) => {
    const [file] = event.target.files;
    if (file) showErrors(() => judgeFile(file, judges.pairwise));
  });
  document.getElementById("more").addEventListener("click", addAnswer);
  document.getElementById("image").addEventListener("change", (event) => showImage(event.target.files[0]));
  document.getElementById("form").addEventListener("submit", (event) => {
    event.preventDefault();
    showErrors(() => judge(judges.pairwise));
  });
}

showErrors(start);
