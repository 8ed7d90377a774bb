//! Pages and charts in files.

use crate::feature::Feature;
use crate::outputs::{OutputFile, Protected};
use crate::picture;
use crate::saved_results::output_file;
use crate::status::{Status, done, refuse_with};
use cli::subcommand::report::{OutputAsked, PictureForm};
use render::document::DocumentKind;
use report::Subject;

/// The file for a page or a chart.
///
/// # Errors
///
/// The status if there is none; the reason was printed.
pub(crate) fn place_of(
    output: &OutputAsked,
    form: &PictureForm,
    protected: &[Protected],
) -> Result<OutputFile, Status> {
    if let Some(reason) = Feature::Pages.missing() {
        return Err(refuse_with(&format!("--output '{}': {reason}", output.path.display())));
    }
    let kind = match form {
        PictureForm::Page => DocumentKind::Page,
        PictureForm::Svg { .. } => DocumentKind::Svg,
        PictureForm::Png { .. } => DocumentKind::Png,
    };
    output_file(output, kind, protected)
}

/// Writes a page or a chart.
pub(crate) fn save(subject: &Subject<'_>, place: &OutputFile, form: &PictureForm) -> Status {
    done(picture::bytes(subject, form).and_then(|bytes| place.save(|out| out.write_all(&bytes))))
}
