// Draws the charts of a page from the data beside each: colours are the page's tokens in either scheme, pointing at a value
// tells it, and so do the arrow keys. Nothing moves by itself. The table behind each chart needs none of this.
(() => {
  "use strict";
  const token = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
  const TONES = { own: "accent", best: "warm-bright", other: "chart-other", good: "good", bad: "bad" };
  const SHAPES = { own: "rect", best: "circle", other: "circle", good: "triangle", bad: "crossRot" };
  const LABEL_GAP = 14;
  const TITLE_CHARS = 28; // of a line of an axis' title: a chart is hardly ever lower

  const dataset = (series) => {
    const colour = token(TONES[series.tone]);
    const isLine = series.form === "line" || series.form === "steps";
    return {
      type: series.form === "bars" ? "bar" : "line",
      label: series.title,
      data: series.points.map(([x, y, text]) => ({ x, y, text })),
      showLine: isLine,
      stepped: series.form === "steps" ? "before" : false,
      borderColor: colour,
      backgroundColor: colour,
      borderWidth: isLine ? 2 : 0,
      pointStyle: SHAPES[series.tone],
      pointRadius: isLine && series.points.length > 24 ? 0 : series.points.length > 200 ? 2 : series.tone === "own" ? 5 : 4,
      clip: false, // a point on the edge is drawn whole
      pointHoverRadius: 7,
      pointHitRadius: 10,
      order: series.tone === "own" ? 0 : 1,
    };
  };

  // A long title takes several lines rather than being cut.
  const titleLines = (title) => {
    const broken = [""];
    for (const word of title.split(" ")) {
      const line = `${broken[broken.length - 1]} ${word}`.trim();
      if (line.length <= TITLE_CHARS || line === word) broken[broken.length - 1] = line; else broken.push(word);
    }
    return broken;
  };

  // A best score holds until the next one, and the last one to where the axis ends.
  const heldToTheEnd = (set, series, end) => {
    if (series.form !== "steps" || !set.data.length || end === undefined) return set;
    const last = set.data[set.data.length - 1];
    set.stepped = "before";
    if (last.x < end) set.data.push({ x: end, y: last.y, text: last.text, isEnd: true });
    set.pointRadius = (context) => (context.raw && context.raw.isEnd ? 0 : 4);
    return set;
  };

  const axis = (spec, position) => {
    const scale = {
      type: "linear",
      position,
      reverse: spec.scale === "rank" && position === "left",
      grace: spec.min === undefined && spec.scale === "number" ? "5%" : 0,
      min: spec.min,
      max: spec.max,
      suggestedMin: spec.suggestedMin,
      suggestedMax: spec.suggestedMax,
      border: { display: false },
      grid: { color: token("line"), display: position === "left" || spec.scale === "rank" },
      title: { display: Boolean(spec.title), text: titleLines(spec.title || ""), color: token("ink-soft") },
      ticks: { color: token("ink-soft"), maxTicksLimit: 6, maxRotation: 0, autoSkipPadding: 16, includeBounds: false },
    };
    if (["rank", "count"].includes(spec.scale)) scale.ticks.precision = 0;
    if (spec.ticks) {
      const labels = new Map(spec.ticks);
      scale.afterBuildTicks = (built) => { built.ticks = spec.ticks.map(([value]) => ({ value })); };
      scale.ticks.callback = (value) => labels.get(value);
    }
    if (spec.scale === "category") scale.offset = true;
    return scale;
  };

  // Straight across: values to compare with, and the line on which both sides are equal.
  const lines = (spec) => ({
    id: "lines",
    beforeDatasetsDraw({ ctx, chartArea: area, scales: { x, y } }) {
      ctx.save();
      ctx.strokeStyle = token("ink-soft");
      ctx.setLineDash([5, 4]);
      const line = (x1, y1, x2, y2) => { ctx.beginPath(); ctx.moveTo(x1, y1); ctx.lineTo(x2, y2); ctx.stroke(); };
      const low = Math.max(x.min, y.min);
      const high = Math.min(x.max, y.max);
      if (spec.diagonal) line(x.getPixelForValue(low), y.getPixelForValue(low), x.getPixelForValue(high), y.getPixelForValue(high));
      for (const level of spec.levels) line(area.left, y.getPixelForValue(level.value), area.right, y.getPixelForValue(level.value));
      ctx.restore();
    },
  });

  // The height at which a name stands over the end of its line and not on it: above all of it that the name spans, else below its end.
  const clearOf = (data, last, width, area) => {
    const spanned = data.filter((point, number) => point.x >= last.x - width || (data[number + 1] && data[number + 1].x >= last.x - width));
    const top = Math.min(...spanned.map((point) => point.y));
    return last.y - top > LABEL_GAP && last.y + 2 * LABEL_GAP < area.bottom ? last.y + LABEL_GAP + 10 : top;
  };

  // Each series is named where it ends, so that no legend has to be looked up.
  const names = (spec) => ({
    id: "names",
    afterDatasetsDraw(chart) {
      const { ctx, chartArea: area } = chart;
      ctx.save();
      ctx.font = `600 12px ${token("font")}`;
      const labels = spec.levels.map(({ title, value }) => ({ title, x: area.right, y: chart.scales.y.getPixelForValue(value), colour: token("ink-soft") }));
      chart.data.datasets.forEach((set, number) => {
        const { data } = chart.getDatasetMeta(number);
        const last = data[data.length - 1];
        if (!last || !set.label || !set.isNamed) return;
        const label = { title: set.label, x: last.x, y: last.y, colour: set.tokenOfText, isBeside: !set.showLine };
        if (set.showLine) label.y = clearOf(data, last, ctx.measureText(set.label).width, area);
        labels.push(label);
      });
      labels.sort((one, other) => one.y - other.y);
      ctx.textAlign = "left";
      ctx.textBaseline = "bottom";
      ctx.lineJoin = "round";
      ctx.lineWidth = 4;
      ctx.strokeStyle = token("surface");
      const written = [];
      for (const label of labels) {
        const width = ctx.measureText(label.title).width;
        const isLeft = !label.isBeside || label.x + width + 12 > area.right;
        const end = Math.max(Math.min(label.x - (label.isBeside ? 10 : 0), area.right), area.left + width);
        const x = isLeft ? end - width : label.x + 10;
        const covers = (y) => written.some((other) => (
          x < other.x + other.width && other.x < x + width && Math.abs(y - other.above) < LABEL_GAP));
        const own = Math.max(label.y - (label.isBeside ? 4 : 6), area.top + 12);
        const places = [0, -1, 1, -2, 2].map((step) => own + step * (LABEL_GAP + 2)).filter((y) => y >= area.top + 12);
        const above = places.find((y) => !covers(y)) || own;
        written.push({ x, width, above });
        ctx.strokeText(label.title, x, above);
        ctx.fillStyle = label.colour;
        ctx.fillText(label.title, x, above);
      }
      ctx.restore();
    },
  });

  const TEXTS = { own: "link", best: "warm", other: "ink-soft", good: "good", bad: "bad" };

  const options = (spec) => ({
    animation: false,
    locale: "en",
    maintainAspectRatio: false,
    normalized: true,
    parsing: false,
    interaction: { mode: "nearest", intersect: false },
    scales: { x: axis(spec.x, "bottom"), y: axis(spec.y, "left") },
    plugins: {
      legend: { display: false },
      tooltip: {
        filter: ({ raw }) => !raw.isEnd,
        displayColors: false,
        backgroundColor: token("ink"),
        bodyColor: token("ground"),
        padding: 10,
        callbacks: { title: () => "", label: ({ raw }) => raw.text },
      },
    },
  });

  // What the values are compared with lies on the chart, too.
  const withLevels = (spec) => {
    const values = spec.levels.map(({ value }) => value);
    if (!values.length) return spec;
    return { ...spec, y: { ...spec.y, suggestedMin: Math.min(...values), suggestedMax: Math.max(...values) } };
  };

  // Errors and the like are never below 0, so the room below the lowest of them ends there.
  const notBelowZero = (spec) => {
    const values = spec.series.flatMap(({ points }) => points.map(([, y]) => y));
    const [low, high] = [Math.min(...values), Math.max(...values)];
    if (spec.y.scale !== "number" || spec.y.min !== undefined || low < 0 || low >= 0.05 * (high - low)) return spec;
    return { ...spec, y: { ...spec.y, min: 0, suggestedMax: Math.max(1.05 * high, spec.y.suggestedMax || 0) } };
  };

  const draw = (figure) => {
    const spec = notBelowZero(withLevels(JSON.parse(document.getElementById(figure.dataset.chart).textContent)));
    const canvas = figure.querySelector("canvas");
    const known = Chart.getChart(canvas);
    if (known) known.destroy();
    Chart.defaults.font.family = token("font");
    const datasets = spec.series.map((series) => ({
      ...heldToTheEnd(dataset(series), series, spec.x.max),
      tokenOfText: token(TEXTS[series.tone]),
      isNamed: series.form !== "points" || series.tone !== "other", // a cloud of points does not end anywhere
    }));
    return new Chart(canvas, { data: { datasets }, options: options(spec), plugins: [lines(spec), names(spec)] });
  };

  // Left and right go from point to point in the order of the axis; each is told as if it were pointed at.
  const listen = (figure) => {
    const canvas = figure.querySelector("canvas");
    const said = figure.querySelector("output");
    let at = -1;
    canvas.tabIndex = 0;
    canvas.setAttribute("role", "application");
    canvas.setAttribute("aria-roledescription", "chart");
    canvas.setAttribute("aria-label", `${canvas.getAttribute("aria-label")} The arrow keys tell each value.`);
    const show = (active, text) => {
      const chart = Chart.getChart(canvas);
      chart.setActiveElements(active);
      chart.tooltip.setActiveElements(active, { x: 0, y: 0 });
      chart.update();
      said.textContent = text;
    };
    canvas.addEventListener("keydown", (event) => {
      const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
      if (!step) return;
      event.preventDefault();
      const all = Chart.getChart(canvas).data.datasets.flatMap((set, datasetIndex) => set.data.map((raw, index) => ({ datasetIndex, index, raw })));
      const points = all.filter(({ raw }) => !raw.isEnd).sort((one, other) => one.raw.x - other.raw.x);
      at = Math.max(0, Math.min(points.length - 1, at + step));
      show([points[at]], points[at].raw.text);
    });
    canvas.addEventListener("blur", () => { at = -1; show([], ""); });
  };

  const drawNew = () => {
    for (const figure of document.querySelectorAll("[data-chart]:not([data-drawn])")) {
      figure.dataset.drawn = "";
      draw(figure);
      listen(figure);
    }
  };
  const drawAgain = () => document.querySelectorAll("[data-chart][data-drawn]").forEach(draw);

  document.addEventListener("DOMContentLoaded", async () => {
    await document.fonts.ready; // letters that are drawn do not change by themselves
    drawNew();
  });
  document.addEventListener("htmx:afterSettle", drawNew);
  document.addEventListener("htmx:beforeCleanupElement", ({ target }) => {
    const chart = target instanceof HTMLCanvasElement && Chart.getChart(target);
    if (chart) chart.destroy();
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", drawAgain);
})();
