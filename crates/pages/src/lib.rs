//! Reports for viewing: a self-contained HTML page, and single charts as SVG and PNG.
//!
//! [`page`] adds to a [`Report`] the data that only pages have, and the template defines the form of each kind of
//! block; [`draw`] draws charts, [`image`] writes them in a format.

mod draw;
mod image;
mod labels;
#[cfg(test)]
mod labels_of_random_charts;
mod layer;
mod page;
mod palette;
mod ruler;

use minijinja::Environment;
use minijinja::value::Serde;
use page::Page;
use report::chart::Chart;
use report::{Report, Subject};
use std::io;
use thiserror::Error;

/// Formats of a single chart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChartFormat {
    /// Vector graphics.
    Svg,
    /// A bitmap.
    Png,
}

/// The reason why there is no chart.
#[derive(Debug, Error)]
pub enum NoChart {
    /// There is none with this name.
    #[error("unknown chart '{name}' (available: {})", known.join(", "))]
    Unknown {
        /// The requested name.
        name: String,
        /// The available ones.
        known: Vec<&'static str>,
    },
    /// There is none at all.
    #[error("nothing to draw: {0}")]
    Nothing(String),
    /// It cannot be drawn.
    #[error("{0}")]
    Failed(#[from] io::Error),
}

/// A report as HTML.
///
/// # Errors
///
/// The template or a chart cannot be drawn.
pub fn html(report: Report) -> io::Result<String> {
    filled(Page::new(report)?).map_err(|error| io::Error::other(format!("the HTML page cannot be created: {error:#}")))
}

/// The template with the page in it.
fn filled(page: Page) -> Result<String, minijinja::Error> {
    let mut environment = Environment::new();
    environment.set_undefined_behavior(minijinja::UndefinedBehavior::Strict);
    // Names that end with .html are escaped.
    environment.add_template("report.html", include_str!("report.html"))?;
    environment.add_template("block.html", include_str!("block.html"))?;
    environment.add_template("chart.html", include_str!("chart.html"))?;
    environment.add_template("words.html", include_str!("words.html"))?;
    environment.add_template("report.css", include_str!("report.css"))?;
    environment.add_template("report.js", include_str!("report.js"))?;
    environment.get_template("report.html")?.render(Serde(page))
}

/// One chart; without a name the first one.
///
/// # Errors
///
/// There is none with this name, none at all, or it cannot be drawn.
pub fn chart(subject: &Subject<'_>, name: Option<&str>, format: ChartFormat) -> Result<Vec<u8>, NoChart> {
    let shown = subject.charts();
    let reasons: Vec<String> =
        shown.iter().filter_map(|shown| shown.as_ref().err()).map(|no| no.reason.clone()).collect();
    let charts: Vec<Chart> = shown.into_iter().flatten().collect();
    let found = match name {
        Some(name) => charts.iter().find(|chart| chart.name == name),
        None => charts.first(),
    };
    match (found, name) {
        (Some(chart), _) => Ok(match format {
            ChartFormat::Svg => image::svg_alone(chart, &subject.about())?,
            ChartFormat::Png => image::png(chart, &subject.about())?,
        }),
        (None, Some(name)) if !charts.is_empty() => {
            Err(NoChart::Unknown { name: name.to_owned(), known: charts.iter().map(|chart| chart.name).collect() })
        }
        (None, _) => {
            Err(NoChart::Nothing(reasons.first().cloned().unwrap_or_else(|| "nothing was measured".to_owned())))
        }
    }
}
