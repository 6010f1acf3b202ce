"use strict";
// Texts of clients and judges are only ever set as text, never as markup.

const SIGNS = { correct: "✓", incorrect: "✗", invalid: "?" };
// Score differences below this are shown as a tie.
const TIE_MARGIN = 0.005;
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

function explain(label) {
  let output = label.raw ? `“${label.raw}”` : "";
  try {
    const uncalibrated = JSON.parse(label.raw).raw_score.toFixed(3);
    output = `the encoder read ${label.prompt_tokens} tokens and gave ${uncalibrated} before calibration`;
  } catch { /* The judge is no encoder. */ }
  const how = [label.reason, output].filter(Boolean).join(": ");
  return [how, label.truncated ? "input truncated" : ""].filter(Boolean).join("; ");
}

async function judgeRow(judge, question, references, candidate) {
  const label = await call("v1/judge", { judge, question, references, candidate });
  return [judge, verdict(label), score(label.score), `${explain(label)}${await closestReference(label, judge, question, references, candidate)}`];
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
  const isTie = Math.abs(a.score - b.score) < TIE_MARGIN;
  const better = a.score === null || b.score === null ? "cannot tell" : isTie ? "tie" : a.score > b.score ? "A" : "B";
  const why = document.createElement("span");
  why.append("A: ", verdict(a), ` ${explain(a)}; B: `, verdict(b), ` ${explain(b)}`);
  return [judge, better, score(a.score), score(b.score), why];
}

function fill(headings, rows) {
  const [head, body] = document.getElementById("verdicts").children;
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
  const answers = [value("answer"), value("other")];
  const comparing = Boolean(answers[1].trim());
  const single = selected.filter((name) => !pairJudges.includes(name));
  const pairs = comparing ? selected.filter((name) => pairJudges.includes(name)) : [];
  if (!single.length && !pairs.length) throw new Error("no judge selected; select at least one");
  if (!references.length && single.length) throw new Error("no reference given; enter one per line, or select pairwise judges only");
  const question = value("question");
  if (!comparing) {
    const rows = await Promise.all(single.map((name) => judgeRow(name, question, references, answers[0])));
    return fill(["judge", "verdict", "score", "why"], rows);
  }
  const rows = [
    ...pairs.map((name) => pairRow(name, question, references, answers)),
    ...single.map((name) => compareRow(name, question, references, answers)),
  ];
  return fill(["judge", "better", "score A", "score B", "why"], await Promise.all(rows));
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
  document.getElementById("form").addEventListener("submit", (event) => {
    event.preventDefault();
    showErrors(() => judge(judges.pairwise));
  });
}

showErrors(start);
