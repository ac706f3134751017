"use strict";
const view = document.getElementById("view");
const state = document.getElementById("state");
const problem = document.getElementById("problem");
const revisions = new Map();
let channel = "";
let first = true;
let loading = false;
let again = false;

// refresh fetches what changed and marks messages that are new or edited.
async function refresh() {
  if (loading) { again = true; return; }
  loading = true;
  try {
    const answer = await fetch("fragment");
    const list = view.querySelector(".channels");
    const atEnd = !list || list.scrollHeight - list.scrollTop - list.clientHeight < 80;
    const top = list ? list.scrollTop : 0;
    view.innerHTML = await answer.text();
    localTimes();
    mark();
    const shown = view.querySelector(".channel");
    channel = shown ? shown.dataset.channel : "";
    const now = view.querySelector(".channels");
    if (now) now.scrollTop = atEnd ? now.scrollHeight : top;
  } finally {
    loading = false;
    if (again) { again = false; refresh(); }
  }
}

function mark() {
  for (const m of view.querySelectorAll(".message")) {
    if (!first && revisions.get(m.id) !== m.dataset.rev) m.classList.add("flash");
    revisions.set(m.id, m.dataset.rev);
  }
  first = false;
}

// localTimes shows moments in the reader's own zone, as Slack does.
function localTimes() {
  for (const t of view.querySelectorAll("time[data-form]")) {
    const at = new Date(t.dateTime);
    const form = t.dataset.form;
    const clock = { hour: "2-digit", minute: "2-digit", hour12: false };
    if (form.includes("time_secs")) clock.second = "2-digit";
    t.title = t.dateTime;
    t.textContent = (form.includes("date") ? at.toLocaleDateString() + " " : "") + at.toLocaleTimeString([], clock);
  }
}

async function act(body) {
  problem.textContent = "";
  const answer = await fetch("do", { method: "POST", headers: { "X-Slack-Double": "1" }, body: JSON.stringify(body) });
  if (!answer.ok) problem.textContent = await answer.text();
  return answer.ok;
}

view.addEventListener("click", async (e) => {
  const b = e.target.closest("button[data-action]");
  if (!b) return;
  b.disabled = true;
  await act({ Kind: "click", Channel: b.dataset.channel, TS: b.dataset.ts, Button: b.dataset.action });
  b.disabled = false;
});

document.getElementById("say").addEventListener("submit", async (e) => {
  e.preventDefault();
  const text = document.getElementById("text");
  if (text.value.trim() === "") return;
  if (await act({ Kind: "say", Channel: channel, Text: text.value.trim() })) {
    text.value = text.value.startsWith("/") ? "/kafka-diagnose " : "";
  }
});

const events = new EventSource("events");
events.onmessage = refresh;
events.onopen = () => { state.textContent = ""; };
events.onerror = () => { state.textContent = "the demo has ended"; };
