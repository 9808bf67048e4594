"use strict";
// Sorting, filtering and paging. Without it the page shows everything, so a server that forbids scripts loses little.
(() => {
  const PAGE = 200, MORE = 1000; // rows; a browser lays out thousands of rows slowly
  const order = new Intl.Collator("en", { numeric: true });
  const compare = (a, b) => (typeof a === "number" && typeof b === "number" ? a - b : order.compare(a, b));
  const value = (row, column) => {
    const cell = row.cells[column];
    return cell.dataset.value !== undefined ? Number(cell.dataset.value) : cell.textContent.trim();
  };
  const told = (count) => count.toLocaleString("en");

  class Table {
    constructor(table) {
      this.body = table.tBodies[0];
      this.keep = () => true;
      this.limit = PAGE;
      this.heads = [...table.tHead.rows[0].cells];
      this.heads.forEach((head, column) => this.sortable(head, column));
      this.further = document.createElement("button");
      this.further.type = "button";
      this.further.className = "further";
      this.further.addEventListener("click", () => { this.limit += MORE; this.paint(); });
      table.parentElement.after(this.further);
      this.paint();
    }

    sortable(head, column) {
      const button = document.createElement("button");
      button.type = "button";
      button.textContent = head.textContent;
      head.replaceChildren(button);
      head.setAttribute("aria-sort", "none");
      button.addEventListener("click", () => {
        const down = head.getAttribute("aria-sort") === "ascending";
        for (const other of this.heads) other.setAttribute("aria-sort", "none");
        head.setAttribute("aria-sort", down ? "descending" : "ascending");
        const rows = [...this.body.rows].map((row) => [value(row, column), row]);
        rows.sort((a, b) => (down ? compare(b[0], a[0]) : compare(a[0], b[0])));
        this.body.append(...rows.map((pair) => pair[1]));
        this.paint();
      });
    }

    paint() {
      let found = 0;
      for (const row of this.body.rows) {
        const match = this.keep(row);
        row.hidden = !match || found >= this.limit;
        row.classList.remove("later");
        found += match;
      }
      const rest = found - this.limit;
      this.further.hidden = rest <= 0;
      this.further.textContent = `Show ${told(Math.min(rest, MORE))} more of ${told(rest)}`;
      return found;
    }
  }

  const tables = new Map([...document.querySelectorAll("table[data-sortable]")].map((one) => [one, new Table(one)]));
  const form = document.querySelector(".filter");
  if (form) {
    const events = document.getElementById("all-events");
    const table = tables.get(events);
    const texts = new Map([...events.tBodies[0].rows].map((row) => [row, row.textContent.toLowerCase()]));
    const field = (name) => form.elements[name];
    const apply = () => {
      const words = field("text").value.toLowerCase().split(/\s+/).filter(Boolean);
      const decision = field("decision").value, kind = field("kind").value;
      const rank = field("rank") ? field("rank").value : "";
      table.keep = (row) => (!decision || row.dataset.decision === decision)
        && (!kind || row.dataset.kind === kind)
        && (!rank || row.dataset.ranks.split(" ").includes(rank))
        && words.every((word) => texts.get(row).includes(word));
      table.limit = PAGE;
      field("shown").value = `${told(table.paint())} of ${told(texts.size)} match`;
    };
    form.hidden = false;
    form.addEventListener("input", apply);
    form.addEventListener("submit", (event) => event.preventDefault());
    form.addEventListener("reset", () => setTimeout(apply));
    for (const button of document.querySelectorAll(".pick")) {
      button.disabled = false;
      button.addEventListener("click", () => {
        for (const element of form.elements) if (element.name !== "shown") element.value = "";
        field("text").value = button.dataset.pick;
        apply();
        document.getElementById("events").scrollIntoView();
        field("text").focus({ preventScroll: true });
      });
    }
    document.addEventListener("keydown", (event) => {
      if (event.key === "/" && !/^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName)) {
        event.preventDefault();
        field("text").focus();
      }
    });
    apply();
  }

  let opened = [];
  addEventListener("beforeprint", () => {
    opened = [...document.querySelectorAll("details.card:not([open]), section > details:not([open])")];
    for (const one of opened) one.open = true;
  });
  addEventListener("afterprint", () => { for (const one of opened) one.open = false; });
})();
