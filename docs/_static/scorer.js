// How the search orders its hits: Sphinx's own scores, and a guide named after what is searched for comes first.
var Scorer = {
  score: ([page, title, anchor, description, score, file, kind]) => {
    const query = (new URLSearchParams(location.search).get("q") || "").trim().toLowerCase();
    const guide = page.startsWith("guides/") ? page.slice("guides/".length).split("_") : [];
    return guide.includes(query) ? score + 1000 : score;
  },
  objNameMatch: 11,
  objPartialMatch: 6,
  objPrio: { 0: 15, 1: 5, 2: -5 },
  objPrioDefault: 0,
  title: 15,
  partialTitle: 7,
  term: 5,
  partialTerm: 2,
};
