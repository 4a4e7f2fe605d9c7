// A click on a column header sorts the rows: by the number at the start of each cell, else by its text.
document.querySelectorAll("thead button").forEach((button) => button.addEventListener("click", () => {
  const head = button.closest("th"), body = head.closest("table").tBodies[0];
  const index = [...head.parentNode.children].indexOf(head);
  const down = head.getAttribute("aria-sort") === "ascending";
  head.parentNode.querySelectorAll("th").forEach((other) => other.removeAttribute("aria-sort"));
  head.setAttribute("aria-sort", down ? "descending" : "ascending");
  const key = (line) => {
    const text = line.children[index].textContent.trim(), number = parseFloat(text.replaceAll(",", ""));
    return isNaN(number) ? text : number;
  };
  [...body.rows].sort((a, b) => {
    const x = key(a), y = key(b);
    const order = typeof x === typeof y ? (x < y ? -1 : x > y ? 1 : 0) : typeof x === "number" ? -1 : 1;
    return down ? -order : order;
  }).forEach((line) => body.append(line));
}));
// Paper cannot be unfolded: everything is open while the page is printed.
let folded = [];
addEventListener("beforeprint", () => {
  folded = [...document.querySelectorAll("details:not([open])")];
  folded.forEach((each) => { each.open = true; });
});
addEventListener("afterprint", () => folded.forEach((each) => { each.open = false; }));
