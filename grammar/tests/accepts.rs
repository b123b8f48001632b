//! Every sample and every probe parses without a diagnostic.

#[path = "support/corpus.rs"]
mod corpus;

use rtv_grammar::parse;
use rtv_semantics::diag::FileId;

#[test]
fn every_program_of_the_corpus_parses() {
    let programs = corpus::programs();
    assert!(programs.len() > 35, "only {} programs were found", programs.len());
    for (name, text) in programs {
        let parsed = parse(FileId(0), &text);
        assert_eq!(parsed.diagnostics, [], "{name}:\n{text}");
    }
}
