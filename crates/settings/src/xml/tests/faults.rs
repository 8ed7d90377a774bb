//! Refused documents: position and message of each fault.

use super::*;

/// All faults of a document as printed.
fn faults(text: &str) -> Vec<String> {
    match read_profile(text.as_bytes(), "p.xml") {
        Ok(profile) => panic!("read as {profile:?}\n{text}"),
        Err(faults) => faults.iter().map(ToString::to_string).collect(),
    }
}

/// The one fault of a target, without its place.
fn target_fault(inside: &str) -> String {
    only(&faults(&document(inside, "", "")))
}

fn span_fault(inside: &str) -> String {
    only(&faults(&document("", inside, "")))
}

fn only(faults: &[String]) -> String {
    assert_eq!(faults.len(), 1, "{faults:#?}");
    faults[0].split_once(": ").unwrap_or_default().1.to_owned()
}

#[test]
fn all_faults_of_a_document_are_listed_with_their_places() {
    let text = "<Profile>\n  <Verbose>maybe</Verbose>\n  <TimeSpans>\n    <TimeSpan>\n      <Duration>-1</Duration>\n\
                \u{20}     <Targets>\n        <Target>\n          <Path>\u{fc}</Path><BlockSize>4K</BlockSize>\n\
                          <WriteRatio>101</WriteRatio>\n          <WriteRatio>1</WriteRatio>\n        </Target>\n\
                        <Target/>\n      </Targets>\n    </TimeSpan>\n  </TimeSpans>\n</Profile>\n";
    insta::assert_snapshot!(faults(text).join("\n"), @r"
    p.xml:2:3: <Verbose>: expected true or false, found 'maybe'
    p.xml:5:7: <Duration>: expected a whole number from 0 to 4294967295, found '-1'
    p.xml:8:25: <BlockSize>: expected a whole number from 1 to 4294967294, found '4K'; write the number without a unit
    p.xml:9:1: <WriteRatio>: expected a whole number from 0 to 100, found '101'
    p.xml:10:11: <WriteRatio>: given twice in this <Target>; the first is on line 9
    p.xml:12:1: <Target>: the required element <Path> is missing
    ");
}

#[test]
fn an_unknown_element_is_told_what_there_is() {
    let near = span_fault("<duration>1</duration>");
    let expected = "<duration>: unknown element in <TimeSpan>; did you mean <Duration>? allowed there: \
                    <CompletionRoutines> ";
    assert!(near.starts_with(expected), "{near}");
    let elsewhere = span_fault("<BlockSize>1</BlockSize>");
    let expected = "<BlockSize>: unknown element in <TimeSpan>; it belongs inside <Target>; allowed there: ";
    assert!(elsewhere.starts_with(expected), "{elsewhere}");
    for (inside, expected) in [
        (
            "<IoRing><Batch/></IoRing>",
            "<Batch>: unknown element in <IoRing>; allowed there: <IoRingBatchSize> <UseRegBuffer>",
        ),
        (
            "<Affinity><Gruop/></Affinity>",
            "<Gruop>: unknown element in <Affinity>; did you mean <Group>? allowed there: <Group> \
             <AffinityGroupAssignment> <AffinityAssignment>",
        ),
        (
            "<Duration xmlns='urn:x'>1</Duration>",
            "<Duration>: the element is in an XML namespace; profiles do not use namespaces",
        ),
    ] {
        assert_eq!(span_fault(inside), expected);
    }
    assert!(span_fault("<Linux><Foo/></Linux>").starts_with("<Foo>: unknown element in <Linux>; allowed there: "));
}

#[test]
fn values_must_be_what_their_element_takes() {
    for (inside, expected) in [
        ("<BlockSize>0</BlockSize>", "<BlockSize>: expected a whole number from 1 to 4294967294, found '0'"),
        ("<BlockSize/>", "<BlockSize>: expected a whole number from 1 to 4294967294, found nothing"),
        ("<RequestCount>0</RequestCount>", "<RequestCount>: expected a whole number from 1 to 4294967295, found '0'"),
        (
            "<ThreadsPerFile>0</ThreadsPerFile>",
            "<ThreadsPerFile>: expected a whole number from 1 to 4294967295, found '0'",
        ),
        ("<IOPriority>4</IOPriority>", "<IOPriority>: expected a whole number from 0 to 3, found '4'"),
        ("<BypassIO>partial</BypassIO>", "<BypassIO>: expected Partial or Full, found 'partial'"),
        ("<Throughput unit='iops'>1</Throughput>", "<Throughput>: attribute unit: expected BPMS or IOPS, found 'iops'"),
        ("<UseLargePages>yes</UseLargePages>", "<UseLargePages>: expected true or false, found 'yes'"),
        ("<Weight>1<a/></Weight>", "<Weight>: only a value is allowed here, not the element <a>"),
        ("<Weight of='x'>1</Weight>", "<Weight>: unknown attribute 'of'; no attributes are allowed here"),
        ("<Throughput Unit='IOPS'>1</Throughput>", "<Throughput>: unknown attribute 'Unit'; allowed: unit"),
        ("text", "<Target>: only elements are allowed here, not the text 'text'"),
        ("<WriteBufferContent/>", "<WriteBufferContent>: the required element <Pattern> is missing"),
        ("<ThreadTargets/>", "<ThreadTargets>: empty; at least one <ThreadTarget> is required"),
        (
            "<WriteBufferContent><Pattern>random</Pattern></WriteBufferContent>",
            "<WriteBufferContent>: the pattern 'random' needs a <RandomDataSource> with <SizeInBytes>, the size of the \
             random data",
        ),
        (
            "<ThreadTargets><ThreadTarget><Thread>1</Thread></ThreadTarget><ThreadTarget><Thread>1</Thread>\
             </ThreadTarget></ThreadTargets>",
            "<ThreadTarget>: thread 1 is already listed for this target",
        ),
    ] {
        assert_eq!(target_fault(inside), expected);
    }
}

#[test]
fn sequential_and_random_exclude_each_other() {
    for random in ["<Random>1</Random>", "<RandomRatio>5</RandomRatio>"] {
        assert_eq!(
            target_fault(&format!("{random}<StrideSize>1</StrideSize>")),
            "<StrideSize>: cannot be combined with <Random> or <RandomRatio>: I/O is either sequential or random"
        );
    }
    assert!(target_fault("<RandomRatio>100</RandomRatio>").ends_with("leave it out and keep <Random>"));
    assert!(target_fault("<RandomRatio>0</RandomRatio>").ends_with("leave out <Random> too"));
}

#[test]
fn a_distribution_has_one_form_and_ranges_with_shares() {
    let fault = |inside: &str| target_fault(&format!("<Random>0</Random><Distribution>{inside}</Distribution>"));
    let (percent, absolute) =
        ("<Percent><Range IO='100'>100</Range></Percent>", "<Absolute><Range IO='1'>1</Range></Absolute>");
    assert!(fault("").contains("must contain <Percent> or <Absolute>"));
    assert!(fault(&format!("{percent}{absolute}")).contains("only one of <Percent> and <Absolute>"));
    assert!(fault("<Percent><Range>5</Range></Percent>").contains("<Range>: the attribute IO is missing"));
    assert!(
        fault("<Percent><Range IO='101'>5</Range></Percent>").contains("attribute IO: expected a whole number from 0")
    );
    assert!(fault("<Percent><Range IO='1'>0</Range></Percent>").contains("from 1 to 100, found '0'"));
    assert!(fault("<Percent><Range IO='1'>101</Range></Percent>").contains("from 1 to 100, found '101'"));
    assert!(fault("<Absolute/>").contains("at least one <Range> is required"));
}

#[test]
fn lists_of_cpus_are_of_one_kind_and_within_a_group() {
    let fault = |inside: &str| span_fault(&format!("<Affinity>{inside}</Affinity>"));
    for (inside, words) in [
        ("<Group Group='65536' Mask='1'/>", "<Group>: attribute Group: expected a whole number from 0 to 65535"),
        ("<Group Mask='1'/>", "<Group>: the attribute Group is missing"),
        ("<Group Group='0'/>", "<Group>: the attribute Mask is missing"),
        ("<Group Group='0' Mask='-1'/>", "<Group>: attribute Mask: expected a CPU mask"),
        ("<Group Group='0' Mask='0x1'>1</Group>", "<Group>: must be empty"),
        ("<Group Group='0' Mask='0x10000000000000000'/>", "more than 64 bits"),
        (
            "<AffinityGroupAssignment Group='0' Processor='64'/>",
            "attribute Processor: expected a whole number from 0 to 63",
        ),
        ("<AffinityAssignment>64</AffinityAssignment>", "expected a whole number from 0 to 63"),
        ("<AffinityAssignment>+1</AffinityAssignment>", "expected a whole number from 0 to 63"),
        (
            "<AffinityAssignment>1</AffinityAssignment><Group Group='0' Mask='1'/>",
            "<Group>: all elements of the list must have the same name; the first is <AffinityAssignment>",
        ),
        ("", "at least one <Group> or <AffinityGroupAssignment> or <AffinityAssignment> is required"),
    ] {
        assert!(fault(inside).contains(words), "{inside}: {}", fault(inside));
    }
}

#[test]
fn io_ring_batches_depend_on_their_unit() {
    let fault = |batch: &str| span_fault(&format!("<IoRing>{batch}</IoRing>"));
    for percent in ["0", "101"] {
        let text = format!("<IoRingBatchSize Percent='true'>{percent}</IoRingBatchSize>");
        assert!(fault(&text).contains("from 1 to 100,"), "{}", fault(&text));
    }
    for count in ["0", "65537", "99999999999999999999"] {
        let text = format!("<IoRingBatchSize>{count}</IoRingBatchSize>");
        assert!(fault(&text).contains("from 1 to 65536,"), "{}", fault(&text));
    }
    assert!(fault("<IoRingBatchSize Percent='yes'>1</IoRingBatchSize>").contains("attribute Percent: expected true"));
    for depth in ["0", "17"] {
        assert!(span_fault(&format!("<CompletionDepth>{depth}</CompletionDepth>")).contains("from 1 to 16"));
    }
}

#[test]
fn templates_are_numbered() {
    for path in ["*", "*foo", "*1foo", "**1", "*-1", "*0"] {
        let text = document("", "", "").replace("<Path>f</Path>", &format!("<Path>{path}</Path>"));
        let fault = only(&faults(&text));
        assert!(fault.starts_with("<Path>: a path that begins with * must be a template"), "{fault}");
        assert!(fault.ends_with(&format!("found '{path}'")), "{fault}");
    }
}

#[test]
fn what_is_no_profile_is_refused_as_a_whole() {
    for (text, words) in [
        ("", "p.xml:1:1: not well-formed XML: the document does not have a root node"),
        ("this is not xml", "p.xml:1:1: not well-formed XML"),
        ("<Profile>\n <TimeSpans>\n</Profile>", "p.xml:3:1: not well-formed XML: expected 'TimeSpans' tag"),
        ("<Profil/>", "p.xml:1:1: <Profil>: not a profile; the root element must be <Profile>"),
        ("<Results><System/></Results>", "p.xml:1:1: <Results>: these results contain no <Profile>"),
        (
            "<Profile xmlns='urn:x'/>",
            "p.xml:1:1: <Profile>: the element is in the XML namespace 'urn:x'; profiles do not use namespaces",
        ),
        ("<!DOCTYPE Profile [<!ENTITY a 'b'>]><Profile/>", "not well-formed XML: XML with DTD detected"),
        ("<Profile>&a;</Profile>", "p.xml:1:10: not well-formed XML: unknown entity reference 'a'"),
        ("<Profile/>", "p.xml:1:1: <Profile>: the required element <TimeSpans> is missing"),
        ("<Profile><TimeSpans/></Profile>", "at least one <TimeSpan> is required"),
        ("<Profile version='1'/>", "unknown attribute 'version'"),
    ] {
        let found = faults(text);
        assert!(found[0].contains(words), "{text}: {found:?}");
    }
}

#[test]
fn documents_made_to_exhaust_are_refused_at_once() {
    let nested = format!("{}{}", "<Profile>".repeat(100_000), "</Profile>".repeat(100_000));
    assert_eq!(faults(&nested), ["p.xml:1:289: elements are nested deeper than 32"]);
    let attributes: Vec<String> = (0..100_000).map(|number| format!(" a{number}=''")).collect();
    assert_eq!(
        faults(&format!("<Profile{}/>", attributes.concat())),
        ["p.xml:1:1: an element has more than 16 attributes"]
    );
    assert_eq!(faults(&" ".repeat((8 << 20) + 1)), ["p.xml: the profile is larger than 8 MiB"]);
}

#[test]
fn a_hundred_faults_are_listed_and_no_more() {
    let many = faults(&document(&"<x/>".repeat(1_000_000), "", ""));
    assert_eq!(many.len(), 101);
    assert_eq!(many[99], many[0].replacen("1:62:", "1:458:", 1));
    assert_eq!(many[100], "p.xml: more than 100 errors; the rest are not listed");
}
