//! A disk with a volatile cache as a network block device (NBD), served by the test itself, so that file systems can be
//! made on it. The protocol is that of doc/proto.md of the NBD project: fixed newstyle, simple replies.

use crate::volatile_disk::{AfterCut, Disk, Flushing, SECTOR_BYTES};
use std::io::{self, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

const SERVER_MAGIC: &[u8; 8] = b"NBDMAGIC";
const OPTION_MAGIC: &[u8; 8] = b"IHAVEOPT";
const OPTION_REPLY_MAGIC: u64 = 0x0003_e889_0455_65a9;
const REQUEST_MAGIC: u32 = 0x2560_9513;
const REPLY_MAGIC: u32 = 0x6744_6698;

/// Handshake flags: fixed newstyle, no zeroes after the old option.
const HANDSHAKE: u16 = 0b11;
/// The server has flags, takes flushes and forced unit access.
const TRANSMISSION: u16 = 0b1101;

const OPTION_EXPORT_NAME: u32 = 1;
const OPTION_ABORT: u32 = 2;
const OPTION_INFO: u32 = 6;
const OPTION_GO: u32 = 7;
const REPLY_ACKNOWLEDGED: u32 = 1;
const REPLY_INFO: u32 = 3;
const REPLY_UNSUPPORTED: u32 = (1 << 31) + 1;

const READ: u16 = 0;
const WRITE: u16 = 1;
const DISCONNECT: u16 = 2;
const FLUSH: u16 = 3;
const FORCED_UNIT_ACCESS: u16 = 1;
const EIO: u32 = 5;
const EINVAL: u32 = 22;

/// The server; connections go on until the client ends them.
#[derive(Debug)]
pub struct BlockServer {
    disk: Arc<Mutex<Disk>>,
    port: u16,
}

impl BlockServer {
    /// Serves a disk full of zeros on a port of 127.0.0.1. What its cache keeps at a cut is drawn from the seed.
    pub fn start(size_bytes: u64, flushing: Flushing, seed: u64) -> io::Result<Self> {
        let disk = Arc::new(Mutex::new(Disk::new(size_bytes, flushing, seed)));
        let listener = TcpListener::bind(("127.0.0.1", 0))?;
        let port = listener.local_addr()?.port();
        let served = Arc::clone(&disk);
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let disk = Arc::clone(&served);
                // A client that goes away in the middle is no fault of the test.
                std::thread::spawn(move || serve(stream, &disk));
            }
        });
        Ok(Self { disk, port })
    }

    /// Its port.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Cuts the power: the contents of the cache are lost, and each I/O fails.
    pub fn cut(&self) {
        locked(&self.disk).cut();
    }

    /// Writes the cache to the medium and begins the disk's log anew: from now on `flushing` applies to these sectors, and
    /// flushes of all others are honest.
    pub fn begin(&self, flushing: Flushing, deceives_in: Range<u64>) {
        locked(&self.disk).begin(flushing, deceives_in);
    }

    /// Restores the power.
    pub fn back(&self) {
        locked(&self.disk).is_off = false;
    }

    /// The state of the sectors, according to the disk's own log.
    pub fn after_cut(&self) -> AfterCut {
        locked(&self.disk).after_cut()
    }

    /// Number of flushes.
    pub fn flushes(&self) -> u64 {
        locked(&self.disk).flushes
    }
}

fn locked(disk: &Mutex<Disk>) -> MutexGuard<'_, Disk> {
    disk.lock().unwrap_or_else(PoisonError::into_inner)
}

fn serve(mut stream: TcpStream, disk: &Mutex<Disk>) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let size_bytes = locked(disk).medium.len() as u64;
    let mut input = BufReader::new(stream.try_clone()?);
    if negotiate(&mut input, &mut stream, size_bytes)? { transmit(&mut input, &mut stream, disk) } else { Ok(()) }
}

/// Agrees with the client on the disk; false if it only asked.
fn negotiate(input: &mut impl Read, output: &mut impl Write, size_bytes: u64) -> io::Result<bool> {
    output.write_all(&[&SERVER_MAGIC[..], OPTION_MAGIC, &HANDSHAKE.to_be_bytes()].concat())?;
    let has_no_zeroes = u32::from_be_bytes(read(input)?) & 2 != 0;
    loop {
        let magic: [u8; 8] = read(input)?;
        if magic != *OPTION_MAGIC {
            return Err(io::Error::other("no option"));
        }
        let option = u32::from_be_bytes(read(input)?);
        let mut data = vec![0; u32::from_be_bytes(read(input)?) as usize];
        input.read_exact(&mut data)?;
        let mut reply = |kind: u32, data: &[u8]| {
            let length = data.len() as u32;
            let head = [&OPTION_REPLY_MAGIC.to_be_bytes()[..], &option.to_be_bytes(), &kind.to_be_bytes()].concat();
            output.write_all(&[&head[..], &length.to_be_bytes(), data].concat())
        };
        let export = [&size_bytes.to_be_bytes()[..], &TRANSMISSION.to_be_bytes()].concat();
        match option {
            OPTION_GO | OPTION_INFO => {
                reply(REPLY_INFO, &[&[0, 0], &export[..]].concat())?;
                reply(REPLY_ACKNOWLEDGED, &[])?;
                if option == OPTION_GO {
                    return Ok(true);
                }
            }
            OPTION_EXPORT_NAME => {
                let zeroes: &[u8] = if has_no_zeroes { &[] } else { &[0; 124] };
                output.write_all(&[&export[..], zeroes].concat())?;
                return Ok(true);
            }
            OPTION_ABORT => return reply(REPLY_ACKNOWLEDGED, &[]).map(|()| false),
            _ => reply(REPLY_UNSUPPORTED, &[])?,
        }
    }
}

/// Serves requests until the client disconnects.
fn transmit(input: &mut impl Read, output: &mut impl Write, disk: &Mutex<Disk>) -> io::Result<()> {
    loop {
        if u32::from_be_bytes(read(input)?) != REQUEST_MAGIC {
            return Err(io::Error::other("no request"));
        }
        let flags = u16::from_be_bytes(read(input)?);
        let kind = u16::from_be_bytes(read(input)?);
        let handle: [u8; 8] = read(input)?;
        let offset = u64::from_be_bytes(read(input)?);
        let bytes = u32::from_be_bytes(read(input)?) as usize;
        let mut data = vec![0; if kind == WRITE { bytes } else { 0 }];
        input.read_exact(&mut data)?;
        if kind == DISCONNECT {
            return Ok(());
        }
        let done = request(&mut locked(disk), kind, offset, bytes, &data, flags & FORCED_UNIT_ACCESS != 0);
        let (error, content) = done.map_or_else(|error| (error, Vec::new()), |content| (0, content));
        output.write_all(&[&REPLY_MAGIC.to_be_bytes()[..], &error.to_be_bytes(), &handle, &content].concat())?;
    }
}

/// The data that a request returns, or its error.
fn request(
    disk: &mut Disk,
    kind: u16,
    offset: u64,
    bytes: usize,
    data: &[u8],
    is_through: bool,
) -> Result<Vec<u8>, u32> {
    if disk.is_off {
        return Err(EIO);
    }
    let is_whole = offset.is_multiple_of(SECTOR_BYTES as u64) && bytes.is_multiple_of(SECTOR_BYTES);
    if !is_whole || offset + bytes as u64 > disk.medium.len() as u64 {
        return Err(EINVAL);
    }
    match kind {
        READ => return Ok(disk.content(offset, bytes)),
        WRITE => disk.store_all(offset, data, is_through),
        FLUSH => disk.flush(),
        _ => return Err(EINVAL),
    }
    Ok(Vec::new())
}

fn read<const COUNT: usize>(input: &mut impl Read) -> io::Result<[u8; COUNT]> {
    let mut bytes = [0; COUNT];
    input.read_exact(&mut bytes)?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(stream: &mut TcpStream, kind: u16, offset: u64, bytes: u32, data: &[u8]) -> (u32, Vec<u8>) {
        let head = [&REQUEST_MAGIC.to_be_bytes()[..], &[0, 0], &kind.to_be_bytes(), b"a handle"].concat();
        let request = [&head[..], &offset.to_be_bytes(), &bytes.to_be_bytes(), data].concat();
        stream.write_all(&request).expect("it takes it");
        assert_eq!(u32::from_be_bytes(read(stream).expect("a reply")), REPLY_MAGIC);
        let error = u32::from_be_bytes(read(stream).expect("a reply"));
        assert_eq!(&read::<8>(stream).expect("a reply"), b"a handle");
        let mut content = vec![0; if kind == READ && error == 0 { bytes as usize } else { 0 }];
        stream.read_exact(&mut content).expect("its data");
        (error, content)
    }

    #[test]
    fn what_was_flushed_survives_a_cut_on_an_honest_disk() {
        let server = BlockServer::start(1 << 20, Flushing::Honest, 1).expect("it serves");
        let mut stream = TcpStream::connect(("127.0.0.1", server.port())).expect("it listens");
        let greeting: [u8; 18] = read(&mut stream).expect("it greets");
        assert_eq!(&greeting[..16], b"NBDMAGICIHAVEOPT");
        let option = [&1_u32.to_be_bytes()[..], OPTION_MAGIC, &OPTION_GO.to_be_bytes(), &0_u32.to_be_bytes()].concat();
        stream.write_all(&option).expect("it takes it");
        let replies: [u8; 52] = read(&mut stream).expect("information and an end");
        assert_eq!(&replies[22..30], (1_u64 << 20).to_be_bytes());

        assert_eq!(asked(&mut stream, WRITE, 0, 4096, &[1; 4096]).0, 0);
        assert_eq!(asked(&mut stream, FLUSH, 0, 0, &[]).0, 0);
        assert_eq!(asked(&mut stream, WRITE, 4096, 65_536, &vec![2; 65_536]).0, 0);
        assert_eq!(asked(&mut stream, READ, 4096, 512, &[]), (0, vec![2; 512]));
        server.cut();
        assert_eq!(asked(&mut stream, READ, 0, 4096, &[]).0, EIO);
        server.back();
        assert_eq!(asked(&mut stream, READ, 0, 4096, &[]), (0, vec![1; 4096]));
        let (_, rest) = asked(&mut stream, READ, 4096, 65_536, &[]);
        assert!(rest.contains(&0) && rest.contains(&2), "some of it is gone");
        let after = server.after_cut();
        assert_eq!((after.lost.len(), after.unflushed.len() + after.right.len()), (0, 136));
        assert_eq!(server.flushes(), 1);

        server.begin(Flushing::Ignored, 8..16);
        assert_eq!(server.after_cut(), AfterCut::default());
        assert_eq!(asked(&mut stream, WRITE, 0, 65_536, &vec![3; 65_536]).0, 0);
        assert_eq!(asked(&mut stream, FLUSH, 0, 0, &[]).0, 0);
        server.cut();
        let lost = server.after_cut().lost;
        assert!(!lost.is_empty() && lost.iter().all(|sector| (8..16).contains(sector)), "{lost:?}");
    }
}
