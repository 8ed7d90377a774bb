//! Settings of agents, the configuration of the server, and output of hosts.

use super::*;

fn setup() -> Setup {
    let key = SigningKey::generate().unwrap();
    Setup {
        name: "h1".into(),
        server: "nats://127.0.0.1:1".into(),
        seed: key.seed().unwrap(),
        inbox: inbox_of("h1"),
        trust: SigningKey::generate().unwrap().public().to_string(),
        allowed: Allowed { directories: vec!["/mnt/ä \" b".into()], ..Allowed::default() },
    }
}

#[test]
fn an_agent_reads_what_the_controller_wrote() {
    let sent = setup();
    let line = serde_json::to_string(&sent).unwrap();
    assert!(!line.contains('\n'));
    let read = Setup::parse(&line).unwrap();
    assert_eq!((&read.name, &read.allowed), (&sent.name, &sent.allowed));
    let connection = read.connection().unwrap();
    assert_eq!(connection.server, sent.server);
    assert_eq!(connection.nkey, SigningKey::parse(&sent.seed));
    assert_eq!(read.trust().unwrap().as_str(), sent.trust);
    connection.check().unwrap();
}

#[test]
fn secrets_are_not_shown() {
    let setup = setup();
    let line = serde_json::to_string(&setup).unwrap();
    assert!(!format!("{setup:?} {:?}", setup.connection()).contains(&setup.seed));
    let wrong = line.replace("\"name\"", "\"nam\"");
    assert!(!Setup::parse(&wrong).unwrap_err().to_string().contains(&setup.seed));
    let wrong = line.replace("\"seed\":\"", "\"seed\":\"X");
    let error = Setup::parse(&wrong).unwrap().connection().unwrap_err().to_string();
    assert!(!error.contains(&setup.seed), "{error}");
}

#[test]
fn the_configuration_has_public_keys_only() {
    let (controller, agent) = (SigningKey::generate().unwrap(), SigningKey::generate().unwrap());
    let text = configuration(controller.public(), [("h1", agent.public())].into_iter());
    for key in [controller, agent] {
        assert!(text.contains(key.public().as_str()) && !text.contains(&key.seed().unwrap()), "{text}");
    }
    let read: serde_json::Value = serde_json::from_str(&text).unwrap();
    let subscribe = read["authorization"]["users"][1]["permissions"]["subscribe"].to_string();
    assert!(subscribe.contains("diskspd.v1.agent.6831.*") && !subscribe.contains("agent.>"), "{subscribe}");
}
