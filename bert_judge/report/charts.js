"use strict";

// Charts come as traces and layouts without colours; a trace's slot names one of the page's, which differ by day and night.
{
  const figures = JSON.parse(document.getElementById("charts").textContent);
  const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();

  const painted = (trace) => {
    const ink = colour(trace.slot);
    const made = { ...trace, line: { ...trace.line, color: ink }, marker: { ...trace.marker, color: ink } };
    for (const bars of ["error_x", "error_y"]) if (trace[bars]) made[bars] = { ...trace[bars], color: ink };
    return made;
  };

  const axis = (given) => ({ automargin: true, gridcolor: colour("line"), linecolor: colour("line"), zeroline: false, fixedrange: true, ...given });

  const draw = () => {
    for (const [name, figure] of Object.entries(figures)) {
      const place = document.getElementById(`chart-${name}`);
      const narrow = place.clientWidth < 480;
      const layout = {
        height: 360,
        margin: { l: 10, r: 10, t: 10, b: 10 },
        paper_bgcolor: "transparent",
        plot_bgcolor: "transparent",
        font: { color: colour("ink"), family: getComputedStyle(document.body).fontFamily, size: narrow ? 11 : 13 },
        hoverlabel: { bgcolor: colour("raised"), font: { color: colour("ink") } },
        // A long legend would leave no room on a phone; the table beside the chart has the names.
        showlegend: !(narrow && figure.data.length > 8),
        legend: figure.data.length > 8 ? {} : { orientation: "h", y: -0.35 },
        ...figure.layout,
        xaxis: axis(figure.layout.xaxis),
        yaxis: axis(figure.layout.yaxis),
      };
      Plotly.react(place, figure.data.map(painted), layout, { displayModeBar: false, responsive: true });
    }
  };

  draw();
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
}
