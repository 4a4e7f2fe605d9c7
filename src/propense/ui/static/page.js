"use strict";
// Everything here only makes forms quicker to use: without scripts they work as they are.
const $ = (id) => document.getElementById(id);

// Start: drop a file, and say at once if it is too large.
const upload = $("upload");
if (upload) {
  const input = $("table");
  const fits = () => {
    const large = input.files[0] && input.files[0].size > Number(upload.dataset.limit);
    $("too-large").hidden = !large;
    return !large;
  };
  input.addEventListener("change", fits);
  for (const kind of ["dragenter", "dragover"]) upload.addEventListener(kind, (event) => { event.preventDefault(); upload.classList.add("over"); });
  for (const kind of ["dragleave", "drop"]) upload.addEventListener(kind, () => upload.classList.remove("over"));
  upload.addEventListener("drop", (event) => { event.preventDefault(); if (event.dataTransfer.files.length) { input.files = event.dataTransfer.files; fits(); } });
  upload.addEventListener("submit", (event) => { if (!fits()) event.preventDefault(); else $("sending").hidden = false; });
}

// Columns: offer the values of the label column, and filter long lists.
const columns = $("columns");
if (columns) {
  const lines = [...columns.querySelectorAll("tr[data-values]")];
  const offer = () => {
    const line = lines[Number($("label").value)];
    const values = $("label").value === "" || !line ? [] : JSON.parse(line.dataset.values);
    $("values").replaceChildren(...values.map((value) => { const option = document.createElement("option"); option.value = value; return option; }));
  };
  $("label").addEventListener("change", offer);
  offer();
  if ($("filter")) {
    $("filter").addEventListener("input", () => {
      const wanted = $("filter").value.toLowerCase();
      for (const line of lines) {
        line.hidden = !line.querySelector("th").textContent.toLowerCase().includes(wanted);
        const below = line.nextElementSibling;
        if (below && below.classList.contains("problem")) below.hidden = line.hidden;
      }
    });
    $("filter").addEventListener("keydown", (event) => { if (event.key === "Enter") event.preventDefault(); });
  }
  const wrong = document.querySelector("[aria-invalid], .problem .error");
  if (wrong) wrong.scrollIntoView({ block: "center" });
}

// Progress: ask every second, and load the page again when something else is to be shown.
const progress = $("progress");
if (progress) {
  const words = { wait: "Starting", read: "Reading the table", test: "Testing whether labels are at random", write: "Writing the results", audit: "Reading the verdicts" };
  const ask = async () => {
    try {
      const answer = await fetch(`${progress.dataset.address}/status`, { headers: { Accept: "application/json" } });
      const now = await answer.json();
      if (now.state !== "queued" && now.state !== "running") { location.reload(); return; }
      const step = now.state === "queued" ? `Waiting: ${now.ahead ?? 0} before it.` : now.what === "fit" ? `Fitting: ${now.done} of ${now.total} models` : words[now.what] ?? "Working";
      const text = now.seconds === undefined ? step : `${step} (${Math.round(now.seconds)} s)`;
      if ($("step").textContent !== text) $("step").textContent = text;
      if (now.what === "fit" && now.total) { $("bar").max = now.total; $("bar").value = now.done; } else $("bar").removeAttribute("value");
    } catch {
      $("step").textContent = "The server does not answer. Is propense serve still running?";
    }
    setTimeout(ask, 1000);
  };
  ask();
}

// Audit: marks by click or key, each sent at once.
const rows = $("rows");
if (rows) {
  document.querySelector(".keys").hidden = false;
  const names = { yes: "positive", no: "negative", "?": "undecided", "": "open" };
  const all = [...rows.querySelectorAll(".row")];
  const show = (row, verdict) => {
    row.dataset.verdict = verdict;
    row.querySelector("[name=seen]").value = verdict;
    for (const button of row.querySelectorAll("button[aria-pressed]")) button.setAttribute("aria-pressed", String(button.value === verdict));
  };
  const complain = (text) => { $("conflict").textContent = text; $("conflict").hidden = !text; };
  // One after another, so that two quick marks of a row arrive in their order.
  let last = Promise.resolve();
  const mark = (row, verdict) => {
    last = last.then(async () => {
      const form = row.querySelector("form");
      const data = new URLSearchParams(new FormData(form));
      data.set("verdict", verdict);
      try {
        const answer = await fetch(form.action, { method: "POST", body: data, headers: { Accept: "application/json" } });
        const now = await answer.json();
        if (now.error) { complain(now.error); return; }
        show(row, now.verdict);
        $("count").textContent = now.marked.toLocaleString("en");
        complain(now.conflict ? `${row.querySelector("h2").textContent.trim()} was marked ${names[now.verdict]} in another tab. Nothing was changed. Mark it again to change it.` : "");
      } catch {
        complain("The mark was not saved: the server does not answer. Is propense serve still running?");
      }
    });
  };
  const move = (row, by) => {
    const next = all[all.indexOf(row) + by];
    if (next) { next.focus({ preventScroll: true }); next.scrollIntoView({ block: "nearest" }); }
    else if (by > 0 && $("next-page")) $("next-page").focus();
  };
  for (const row of all) {
    const form = row.querySelector("form");
    if (!form) continue;
    form.addEventListener("submit", (event) => { event.preventDefault(); mark(row, event.submitter.value); });
  }
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest("input, select, textarea, a, summary")) return;
    const verdict = { p: "yes", n: "no", " ": "?", u: "" }[event.key.toLowerCase()];
    const by = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    const button = event.target.closest("button");
    // Space presses a button that has the focus, as everywhere.
    if (button && event.key === " ") return;
    const row = event.target.closest(".row") ?? (document.activeElement === document.body ? all.find((each) => !each.dataset.verdict) ?? all[0] : null);
    if (!row || !row.querySelector("form")) return;
    if (verdict !== undefined) { event.preventDefault(); mark(row, verdict); if (verdict !== "") move(row, 1); }
    else if (by) { event.preventDefault(); move(row, by); }
  });
}
