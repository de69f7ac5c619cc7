// The tables: scores, evaluations, settings, where the time went; and the videos.

/** A table. Cells that are numbers, or begin with one, stand to the right. */
function table(caption, head, rows, className = "") {
  const isNumber = cell => typeof cell === "number" || /^[–\d-][\d.,]*[kMG]?( |$)/.test(cell);
  const numeric = head.map((_, column) => column > 0 && rows.length > 0 && rows.every(row => isNumber(row[column])));
  const cell = (content, column) => column === 0 ? make("th", {scope: "row"}, content)
    : make("td", {class: numeric[column] && "number"}, typeof content === "number" ? shown.number(content) : content);
  return make("div", {class: "scroll", tabindex: 0, role: "region", "aria-label": caption}, make("table", {class: className || null},
    make("caption", {}, caption),
    make("thead", {}, make("tr", {}, ...head.map((name, column) => make("th", {scope: "col", class: numeric[column] && "number"}, name)))),
    make("tbody", {}, ...rows.map(row => make("tr", {}, ...row.map(cell))))));
}

function scoresSection() {
  const section = make("section", {id: "scores"}, make("h2", {}, "Scores"));
  const several = data.groups.some(group => group.runs.length > 1);
  if (several) {
    section.append(table("Mean raw return of the last 100 games of each run; mean over seeds and its 95 % interval; beside finished runs others are left out", ["", "environment", "seeds", "score"],
      data.groups.map(group => [group.name, group.env, group.seeds, shown.interval(group.score)]), "groups"));
  }
  section.append(table("Each run; its score is the mean of its last 100 games, or of all where they are fewer", ["run", "seed", "score", "best evaluation", "agent steps", "games", "time", "steps/s"],
    runs().map(run => [run.name, run.seed, shown.number(run.score), run.best ? `${shown.number(run.best.mean)} ± ${shown.number(run.best.std)}` : "–",
      run.shown_steps, run.games.toLocaleString("en"), run.time, shown.number(run.steps_per_second)]), "runs"));
  const evaluated = runs().filter(run => run.evaluations.length);
  for (const run of evaluated) {
    section.append(make("details", {open: evaluated.length === 1}, make("summary", {}, `Evaluations of ${run.name}`),
      table("Whole games with raw rewards, played between two updates", ["agent steps", "mean", "± standard deviation", "lowest", "highest", "games", "mean length"],
        run.evaluations.map(row => [shown.count(row.step), shown.number(row.mean), shown.number(row.std), shown.number(row.min), shown.number(row.max), String(row.episodes), shown.number(row.length)]), "evaluations")));
  }
  return {section};
}

/** All runs; those of two folders of seeds may have one name, and are told apart by their groups. */
const runs = () => {
  const names = data.groups.flatMap(group => group.runs.map(run => run.name));
  const isAlone = name => names.indexOf(name) === names.lastIndexOf(name);
  return data.groups.flatMap(group => group.runs.map(run => isAlone(run.name) ? run : {...run, name: `${run.name} (${group.label})`}));
};

function settingsSection() {
  const section = make("section", {id: "settings"}, make("h2", {}, "Settings"));
  const head = ["setting", ...data.groups.map(group => group.label)];
  const row = setting => [setting.name, ...setting.values];
  const differing = data.settings.filter(setting => setting.differs);
  if (differing.length) {
    section.append(table("What differs", head, differing.map(row), "differing"));
  }
  section.append(make("details", {open: data.groups.length === 1}, make("summary", {}, "All settings"), table("Settings", head, data.settings.map(row), "all")));
  const machines = [...new Set(runs().map(run => run.machine))].filter(Boolean);
  if (machines.length) section.append(make("p", {class: "note"}, `Trained on: ${machines.join("; ")}.`));
  return {section};
}

function speedSection() {
  const timed = runs().filter(run => run.phases);
  if (!timed.length) return null;
  const names = ["acting", "stepping", "learning", "other"];
  const section = make("section", {id: "speed"}, make("h2", {}, "Where the time went"),
    make("p", {class: "share-key"}, ...names.map((name, index) => make("span", {style: `--of: var(--series-${index + 1})`},
      {acting: "choosing actions", stepping: "stepping environments", learning: "gradient steps", other: "everything else"}[name]))));
  section.append(table("Shares of the time of training", ["run", "steps/s", "shares", ...names], timed.map(run => {
    const all = names.reduce((sum, name) => sum + (run.phases[name] ?? 0), 0);
    const percent = name => run.phases[name] == null ? "–" : `${(100 * run.phases[name] / all).toFixed(1)} %`;
    const bar = make("span", {class: "shares", role: "img", "aria-label": names.map(name => `${name} ${percent(name)}`).join(", ")},
      ...names.map((name, index) => make("span", {style: `width: ${100 * (run.phases[name] ?? 0) / all}%; background: var(--series-${index + 1})`})));
    return [run.name, shown.number(run.steps_per_second), bar, ...names.map(percent)];
  }), "speed"));
  return {section};
}

function videosSection() {
  if (!data.videos.length) return null;
  const section = make("section", {id: "videos"}, make("h2", {}, "Play"));
  section.append(make("div", {class: "videos"}, ...data.videos.map(video => make("figure", {},
    video.is_gif ? make("img", {src: video.data, alt: `${video.run}: ${video.what}`}) : make("video", {src: video.data, controls: true, muted: true, loop: true, preload: "auto"}),
    make("figcaption", {}, `${video.run}: ${video.what}`)))));
  return {section};
}
