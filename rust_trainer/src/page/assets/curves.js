// The learning curves, profiles over seeds, and the numbers of the updates.

/** Radio buttons, a choice of `options` ([value, label]). */
function choice(name, legend, options, chosen, onchange) {
  return make("fieldset", {}, make("legend", {}, legend), ...options.map(([value, label]) =>
    make("label", {}, make("input", {
      type: "radio", name, value, checked: value === chosen, onchange: () => onchange(value),
    }), label)));
}

const box = (label, checked, onchange) => make("label", {}, make("input", {
  type: "checkbox", checked, onchange: event => onchange(event.target.checked),
}), label);

function curvesSection() {
  const section = make("section", {id: "curves"}, make("h2", {}, "Learning curves"));
  const state = {axis: "steps", window: "100", seeds: false};
  const views = data.envs.map(env => envView(env, state));
  const draw = () => views.forEach(view => view.draw());
  const set = (key, value) => { state[key] = value; draw(); };
  const several = data.groups.some(group => group.runs.length > 1);
  section.append(make("div", {class: "controls"},
    choice("axis", "Over", [["steps", "agent steps"], ["time", "time of training"]], "steps", value => set("axis", value)),
    choice("window", "Mean of the last", data.windows.map(games => [String(games), `${games} games`]), "100", value => set("window", value)),
    several ? box("each seed", false, value => set("seeds", value)) : null));
  if (several) section.append(make("p", {class: "note"}, "Lines are means over seeds, bands their 95 % interval (bootstrap over seeds). Beside finished runs others have no part in them."));
  section.append(make("p", {class: "note hint"}, "Drag over a chart to look closer, click it twice to see everything again."));
  section.append(...views.map(view => view.element));
  return {section, draw};
}

function envView(env, state) {
  const groups = data.groups.map((group, index) => ({...group, index})).filter(group => group.env === env.id && group.self_play === env.self_play);
  const element = make("div", {}, make("h3", {}, env.self_play ? `${env.id}, self-play` : env.id));
  if (groups.every(group => group.runs.every(run => !run.games))) {
    element.append(make("p", {class: "note"}, "No game has ended yet."));
    return {element, draw() {}};
  }
  // Scores of much longer runs would flatten the curves.
  const near = env.published.filter(line => line.steps == null || env.steps >= line.steps / 2);
  let references = near.some(line => line.steps != null);
  // A human far above everything else would flatten the curves, too.
  const highest = Math.max(...groups.flatMap(group => group.steps["100"].mean), ...near.filter(line => line.steps != null).map(line => line.value));
  const human = env.published.filter(line => line.label === "human" && line.value > 1.2 * highest).map(line => line.label);
  // A published score has the colour of the first curve of its algorithm.
  const colourOf = label => {
    const algorithm = label.startsWith("Rainbow") ? "dqn" : label.split(",")[0].toLowerCase();
    const group = groups.find(other => other.algorithm === algorithm);
    return group ? colour(group.index) : theme("--faint");
  };
  let chart = null;
  const draw = () => {
    chart ??= new Chart(element, {axis: state.axis, yLabel: env.axis, name: `Learning curves, ${env.id}`, hidden: human});
    chart.refresh = draw;
    const lines = groups.flatMap(group => {
      const curve = group[state.axis][state.window];
      const line = {label: group.name, title: group.label, x: curve.x, y: curve.mean, low: curve.low, high: curve.high, colour: colour(group.index)};
      const seeds = state.seeds && group.runs.length > 1 ? group.runs.map(run => {
        const own = run[`over_${state.axis}`][state.window];
        return {label: `${group.name}, seed ${run.seed}`, x: own.x, y: own.mean, thin: true, colour: colour(group.index)};
      }) : [];
      return [line, ...seeds];
    });
    const flat = references ? env.published.map(line => ({
      label: line.steps == null ? line.label : `${line.label}, at ${shown.count(line.steps)}`,
      title: `${line.label}: ${line.value} (${line.source})`, flat: true, y: line.value, dash: true, name: line.label, colour: colourOf(line.label),
    })) : [];
    chart.show([...lines, ...flat], state.axis);
  };
  if (env.published.length) {
    element.append(make("div", {class: "controls"}, box("published scores", references, value => { references = value; draw(); })));
  }
  return {element, draw};
}

function updatesSection() {
  const runs = data.groups.flatMap((group, index) => group.runs.map(run => ({...run, group, index})));
  const columns = new Set(runs.flatMap(run => Object.keys(run.updates)));
  for (const name of ["step", "seconds", "update"]) columns.delete(name);
  if (!columns.size) return null;
  const state = {axis: "steps", column: ["value_loss", "loss", "q_loss"].find(name => columns.has(name)) ?? [...columns][0]};
  const section = make("section", {id: "updates"}, make("h2", {}, "Updates"));
  const select = make("select", {id: "column", onchange: event => { state.column = event.target.value; draw(); }},
    ...[...columns].sort().map(name => make("option", {value: name, selected: name === state.column}, name)));
  section.append(make("div", {class: "controls"}, make("label", {for: "column"}, "Column of updates.csv ", select),
    choice("updates-axis", "Over", [["steps", "agent steps"], ["time", "time of training"]], "steps", value => { state.axis = value; draw(); })));
  const place = make("div");
  section.append(place);
  let chart = null;
  const draw = () => {
    chart ??= new Chart(place, {axis: state.axis, yLabel: "", name: "Numbers of the updates"});
    chart.refresh = draw;
    chart.yLabel = state.column;
    const lines = runs.filter(run => run.updates[state.column]).map(run => ({
      label: run.group.runs.length > 1 ? `${run.group.label}, seed ${run.seed}` : run.group.label,
      x: run.updates[state.axis === "steps" ? "step" : "seconds"], y: run.updates[state.column], thin: true, colour: colour(run.index),
    }));
    chart.show(lines, state.axis);
  };
  return {section, draw};
}

function profilesSection() {
  const found = data.profiles;
  if (!found) return null;
  const section = make("section", {id: "seeds"}, make("h2", {}, "Over seeds"));
  if (found.missing) {
    section.append(make("p", {class: "note"}, found.missing));
    return {section, draw() {}};
  }
  section.append(
    make("p", {class: "note"}, "The performance profile is the part of the runs whose score is above what the axis says; "
      + "a score is the mean raw return of a run's last 100 games. "
      + (found.envs.length > 1 ? `Environments: ${found.envs.join(", ")}; 0 is random play, 1 a human.` : "")
      + " Intervals are 95 %, bootstrap over seeds (Agarwal et al. 2021)."));
  const place = make("div");
  section.append(place, table("Scores over seeds", ["", "runs", "mean", "interquartile mean"],
    found.curves.map(curve => [curve.label, curve.scores, shown.interval(curve.mean), shown.interval(curve.interquartile_mean)])));
  if (found.improvement.length) {
    const percent = value => `${(100 * value).toFixed(0)} %`;
    section.append(table("Probability of improvement: how likely a run of the first does better than a run of the second",
      ["first", "second", "probability"],
      found.improvement.map(pair => [pair.of, pair.over, shown.interval(pair.probability, percent)])));
  }
  let chart = null;
  const draw = () => {
    chart ??= new Chart(place, {axis: found.score, yLabel: "part of the runs above", name: "Performance profiles", quiet: true});
    chart.refresh = draw;
    chart.show(found.curves.map((curve, index) => ({
      label: curve.label, stepped: true, x: found.thresholds, y: curve.part, low: curve.low, high: curve.high,
      colour: colour(curve.group),
    })));
  };
  return {section, draw};
}
