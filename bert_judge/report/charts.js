"use strict";

// Draw the charts. A trace's slot names one of the page's colours, which differ between light and dark mode.
{
  const figures = JSON.parse(document.getElementById("charts").textContent);
  const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();

  const withColour = (trace) => {
    const ink = colour(trace.slot);
    const coloured = { ...trace, line: { ...trace.line, color: ink }, marker: { ...trace.marker, color: ink } };
    for (const bars of ["error_x", "error_y"]) if (trace[bars]) coloured[bars] = { ...trace[bars], color: ink };
    return coloured;
  };

  const axis = (settings) => ({ automargin: true, gridcolor: colour("line"), linecolor: colour("line"), zeroline: false, fixedrange: true, autotickangles: [0, -90], ...settings });

  const draw = () => {
    for (const [name, figure] of Object.entries(figures)) {
      const element = document.getElementById(`chart-${name}`);
      const narrow = element.clientWidth < 480;
      const layout = {
        height: 360,
        margin: { l: 10, r: 10, t: 10, b: 10 },
        paper_bgcolor: "transparent",
        plot_bgcolor: "transparent",
        font: { color: colour("ink"), family: getComputedStyle(document.body).fontFamily, size: narrow ? 11 : 13 },
        hoverlabel: { bgcolor: colour("raised"), font: { color: colour("ink") } },
        // A long legend would fill the screen of a phone; the table below the chart has the names.
        showlegend: !(narrow && figure.data.length > 8),
        legend: figure.data.length > 8 ? {} : { orientation: "h", x: 0, y: 1.02, yanchor: "bottom" },
        ...figure.layout,
        xaxis: axis(figure.layout.xaxis),
        yaxis: axis(figure.layout.yaxis),
      };
      Plotly.react(element, figure.data.map(withColour), layout, { displayModeBar: false, responsive: true });
    }
  };

  draw();
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
}
