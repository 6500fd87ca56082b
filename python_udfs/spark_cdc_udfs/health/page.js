
"use strict";
(() => {
  const view = JSON.parse(document.getElementById("data").textContent);
  const SVG = "http://www.w3.org/2000/svg";
  const WIDTH = 120;
  const HEIGHT = 28;
  const EDGE = 3;

  // Makes an element. Every text of the data becomes a text node, never HTML.
  function make(tag, options, ...children) {
    const made = document.createElement(tag);
    for (const [name, value] of Object.entries(options || {})) made.setAttribute(name, value);
    made.append(...children);
    return made;
  }

  const byId = (id) => document.getElementById(id);

  function drawn(path, kind) {
    const made = document.createElementNS(SVG, "path");
    made.setAttribute("d", path);
    if (kind) made.setAttribute("class", kind);
    return made;
  }

  // The values of the runs as a line, with a gap where a value is not known, and a dot at its end.
  function line(series) {
    const known = series.runs.filter((one) => one !== null);
    const low = Math.min(0, ...known);
    const range = Math.max(...known, low + 1) - low;
    const step = series.runs.length > 1 ? (WIDTH - 2 * EDGE) / (series.runs.length - 1) : 0;
    const start = WIDTH - EDGE - step * (series.runs.length - 1);
    const x = (place) => (start + place * step).toFixed(1);
    const y = (value) => (HEIGHT - EDGE - ((value - low) / range) * (HEIGHT - 2 * EDGE)).toFixed(1);
    let path = "";
    let end = "";
    series.runs.forEach((value, place) => {
      if (value === null) return;
      const starts = place === 0 || series.runs[place - 1] === null;
      end = `${x(place)} ${y(value)}`;
      path += starts ? `M${end}h0` : `L${end}`;
    });
    const made = document.createElementNS(SVG, "svg");
    const title = document.createElementNS(SVG, "title");
    title.textContent = series.label;
    const attributes = {
      class: "line",
      viewBox: `0 0 ${WIDTH} ${HEIGHT}`,
      preserveAspectRatio: "none",
      role: "img",
      "aria-label": series.label,
    };
    for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
    made.append(title, drawn(`M0 ${y(0)}H${WIDTH}`, "ground"));
    if (path) made.append(drawn(path), drawn(`M${end}h0`, "dot"));
    return made;
  }

  function status(name, text) {
    const known = { bad: "bad", warn: "warn", ok: "ok" }[name];
    return make("span", { class: known ? `status ${known}` : "status" }, text || name);
  }

  function measured(kind, value) {
    const cell = make("td", { role: "cell", class: kind }, make("span", { class: "value" }, value.text));
    if (value.note) cell.append(" ", make("span", { class: "note" }, value.note));
    cell.append(line(value));
    return cell;
  }

  function number(value) {
    return make("td", { role: "cell", class: "wide number" }, value.text);
  }

  function examplesOf(reason) {
    return reason.examples.map((one) => {
      const raw = make("pre", { tabindex: "0", role: "group", "aria-label": "raw row" }, one.raw);
      return make("div", { class: "example" }, ...(one.detail ? [make("p", {}, one.detail)] : []), raw);
    });
  }

  function reasonsOf(table) {
    if (!table.reasons.length) return make("p", {}, table.reasons_known ? "None." : "Not known.");
    const items = table.reasons.map((one) => {
      const head = [make("span", { class: "reason" }, one.reason), " ", make("span", { class: "count" }, one.count)];
      const examples = examplesOf(one);
      return make("li", {}, ...head, ...(examples.length ? examples : [make("p", { class: "note" }, "No example.")]));
    });
    return make("ul", { class: "list reasons" }, ...items);
  }

  function gapsOf(table) {
    if (!table.gap_list.length) return make("p", {}, table.gaps_note);
    const items = table.gap_list.map((one) => {
      const head = [make("span", { class: "reason" }, one.name), " ", make("span", { class: "count" }, one.count)];
      return make("li", {}, ...head, make("div", { class: "note" }, one.means));
    });
    if (table.gaps_note) items.push(make("li", { class: "note" }, table.gaps_note));
    return make("ul", { class: "list gaps" }, ...items);
  }

  function detailsOf(table, id) {
    const facts = [["source", table.source], ...table.facts].map(([name, text]) =>
      make("div", {}, make("dt", {}, name), make("dd", {}, text)));
    const parts = [
      make("h3", {}, "Reasons of quarantine"),
      reasonsOf(table),
      make("h3", {}, "Gaps"),
      gapsOf(table),
      make("h3", {}, "Numbers of the last run"),
      make("dl", {}, ...facts),
    ];
    return make("tr", { role: "row", class: "details", id }, make("td", { role: "cell", colspan: "8" }, ...parts));
  }

  // A row of the table, and the row with its details, which is made when it is first opened.
  function entryOf(table, place) {
    const id = `details-${place}`;
    const button = make("button", { type: "button", class: "name", "aria-expanded": "false" }, table.name);
    const head = make("th", { role: "rowheader", scope: "row", class: "name-of" }, button);
    if (table.why.length) head.append(make("div", { class: "why" }, table.why.join(" · ")));
    const row = make(
      "tr",
      { role: "row", class: "row" },
      make("td", { role: "cell", class: "status-of" }, status(table.status)),
      head,
      measured("lag", table.lag),
      measured("quarantined", table.quarantined),
      number(table.gaps),
      number(table.raw),
      make("td", { role: "cell", class: "wide source" }, table.source),
      make("td", { role: "cell", class: "wide" }, table.checked.text),
    );
    const entry = { table, place, row, details: null };
    row.addEventListener("click", (event) => {
      const onOther = event.target.closest("button") !== button && String(getSelection());
      if (!onOther) toggle(entry, button, id);
    });
    return entry;
  }

  function toggle(entry, button, id) {
    const opens = button.getAttribute("aria-expanded") === "false";
    if (!entry.details) {
      entry.details = detailsOf(entry.table, id);
      button.setAttribute("aria-controls", id);
      entry.row.after(entry.details);
    }
    entry.details.hidden = !opens;
    entry.row.classList.toggle("open", opens);
    button.setAttribute("aria-expanded", String(opens));
  }

  // Sorting. What is not known comes last in both directions.

  const texts = new Intl.Collator("en", { numeric: true });
  const KEYS = {
    worst: (entry) => entry.place,
    name: (entry) => entry.table.name,
    source: (entry) => entry.table.source,
    lag: (entry) => entry.table.lag.value,
    quarantined: (entry) => entry.table.quarantined.value,
    gaps: (entry) => entry.table.gaps.value,
    raw: (entry) => entry.table.raw.value,
    checked: (entry) => entry.table.checked.value,
  };
  const ASCENDING_FIRST = ["worst", "name", "source", "checked"];

  function compare(one, other, key, sign) {
    const [a, b] = [KEYS[key](one), KEYS[key](other)];
    if (a === null || b === null) return (a === null) - (b === null) || one.place - other.place;
    const order = typeof a === "string" ? texts.compare(a, b) : a - b;
    return sign * order || one.place - other.place;
  }

  function sortBy(heading) {
    const key = heading.dataset.sort;
    const now = heading.getAttribute("aria-sort");
    const first = ASCENDING_FIRST.includes(key) ? "ascending" : "descending";
    const other = first === "ascending" ? "descending" : "ascending";
    const direction = now === first ? other : first;
    for (const one of headings) one.removeAttribute("aria-sort");
    heading.setAttribute("aria-sort", direction);
    const sign = direction === "ascending" ? 1 : -1;
    entries.sort((one, two) => compare(one, two, key, sign));
    byId("rows").append(...entries.flatMap((one) => (one.details ? [one.row, one.details] : [one.row])));
  }

  // The filter: every word has to be in the name, the source or the status.

  function filter() {
    const words = byId("filter").value.toLowerCase().split(/\s+/);
    let shown = 0;
    for (const { table, row, details } of entries) {
      const text = `${table.name}\n${table.source}\n${table.status}`.toLowerCase();
      const fits = words.every((word) => text.includes(word));
      shown += fits;
      row.hidden = !fits;
      if (details) details.hidden = !fits || !row.classList.contains("open");
    }
    byId("shown").textContent = `${shown} of ${entries.length} tables`;
  }

  const headings = [...document.querySelectorAll("#tables thead th")];
  const entries = view.tables.map(entryOf);
  const about = [`${view.relation}.`, view.checked && `Checked ${view.checked}.`, `Page made ${view.made}.`];
  byId("about").append(...about.filter(Boolean).flatMap((one) => [make("span", {}, one), " "]));
  byId("counts").append(...view.counts.map(([name, count]) => make("li", {}, status(name, `${count} ${name}`))));
  byId("rule").append(...view.rule.map((one) => make("li", {}, one)));
  byId("rows").append(...entries.map((one) => one.row));
  byId("empty").hidden = entries.length > 0;
  byId("tables").hidden = byId("search").hidden = entries.length === 0;
  for (const heading of headings) heading.addEventListener("click", () => sortBy(heading));
  byId("filter").addEventListener("input", filter);
  filter();
})();
