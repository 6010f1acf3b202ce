"use strict";
// Texts of clients and judges are only ever set as text, never as markup.

const SIGNS = { correct: "✓", incorrect: "✗", invalid: "?" };
// Score differences below this are shown as a tie.
const TIE_MARGIN = 0.005;
// Rows of a file per request, and rows of it that are shown.
const ROWS_PER_REQUEST = 200;
const SHOWN_ROWS = 100;
// Reason of a judge → the same for someone who does not know how it works.
const REASONS = { "decided by features (early exit)": "clear from the words that answer and references share" };
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

function scored(label) {
  const cell = document.createElement("span");
  cell.append(verdict(label), ` ${score(label.score)}`);
  return cell;
}

function explain(label) {
  let output = label.raw ? `“${label.raw}”` : "";
  try {
    JSON.parse(label.raw).raw_score.toFixed(3);
    output = `a small language model compared ${label.prompt_tokens} tokens of question, references and answer`;
  } catch { /* The judge is no encoder. */ }
  const grades = Object.entries(label.aspects ?? {}).map(([aspect, grade]) => `${aspect} ${grade}`).join(", ");
  const how = [grades, REASONS[label.reason] ?? label.reason, output].filter(Boolean).join(": ");
  return [how, label.truncated ? "input truncated" : ""].filter(Boolean).join("; ");
}

async function judgeRow(judge, question, references, candidate) {
  const label = await call("v1/judge", { judge, question, references, candidate });
  checkReference(label, references);
  return [judge, verdict(label), score(label.score), `${explain(label)}${await closestReference(label, judge, question, references, candidate)}`];
}

function checkReference(label, references) {
  if (references.length || label.reason !== "no reference") return;
  throw new Error("no reference given; enter one per line, or select judges that need none");
}

// Name the reference that scores highest alone, if they differ; a language model is not called again.
async function closestReference(label, judge, question, references, candidate) {
  if (references.length < 2 || !label.score || label.completion_tokens) return "";
  const rows = references.map((reference) => ({ question, references: reference, candidate }));
  const scores = (await call("v1/judge", { judge, rows })).labels.map((single) => single.score ?? 0);
  const highest = Math.max(...scores);
  return highest > Math.min(...scores) ? `; closest reference: “${references[scores.indexOf(highest)]}”` : "";
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
  return [judge, better, scored(a), scored(b), why.map((parts) => parts.join(": ")).join("; ")];
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
  const scoredRecords = records.map((record, place) => ({ ...record, verdict: labels[place].verdict, score: labels[place].score }));
  const link = element("a", "Save with verdicts");
  link.href = URL.createObjectURL(new Blob([toCsv(scoredRecords)], { type: "text/csv" }));
  link.download = file.name.replace(/\.\w+$/, ".scored.csv");
  summary.append(link);
  const shown = records.slice(0, SHOWN_ROWS).map((record, place) => [text(record[columns.candidate]), scored(labels[place])]);
  fill(["answer", records.length > SHOWN_ROWS ? `verdict (first ${SHOWN_ROWS})` : "verdict"], shown, "rows");
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

async function start() {
  const judges = await call("v1/judges");
  for (const name of [...judges.pointwise, ...judges.pairwise]) {
    const label = document.createElement("label");
    label.append(Object.assign(document.createElement("input"), { type: "checkbox", value: name, checked: true }), ` ${name}`);
    document.getElementById("judges").append(label);
  }
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
