//! A client that loads pages: objects whose requests wait for the objects that name them.

use super::core::{Core, Timer};
use crate::scenario::{PageApp, Protocol};
use std::collections::VecDeque;
use std::sync::Arc;
use units::{Span, Time};

/// A page that was loaded, or is being loaded.
#[derive(Clone, Copy, Debug)]
pub struct PageLoad {
    pub start: Time,
    /// When its last object was complete; [`Time::NEVER`] before.
    pub end: Time,
    /// Sum of the arrivals of its bytes since the start, by objects, byte-seconds.
    pub byte_seconds: f64,
}

/// The loading of pages.
#[derive(Clone, Debug)]
pub struct PageLoader {
    options: Arc<PageApp>,
    /// Of each object of the present page, its children.
    children: Arc<Vec<Vec<u32>>>,
    /// The page of each message, and its object.
    objects: Vec<Option<u32>>,
    /// Objects that wait for a connection.
    waiting: VecDeque<u32>,
    /// Connections of HTTP/1.1 that are open and idle, the one that was idle last at the end.
    idle: Vec<u32>,
    left: usize,
    pub pages: Vec<PageLoad>,
}

impl PageLoader {
    pub fn new(options: &PageApp) -> PageLoader {
        let objects = options.page.objects();
        let mut children = vec![Vec::new(); objects.len()];
        for (number, object) in objects.iter().enumerate() {
            if let Some(parent) = object.parent {
                children[parent as usize].push(number as u32);
            }
        }
        PageLoader {
            options: Arc::new(options.clone()),
            children: Arc::new(children),
            objects: Vec::new(),
            waiting: VecDeque::new(),
            idle: Vec::new(),
            left: 0,
            pages: Vec::new(),
        }
    }

    /// Begins the next page.
    pub fn begin(&mut self, core: &mut Core, now: Time) {
        if core.stopped {
            return;
        }
        self.pages.push(PageLoad { start: now, end: Time::NEVER, byte_seconds: 0.0 });
        let options = self.options.clone();
        let objects = options.page.objects();
        self.left = objects.len();
        for (number, object) in objects.iter().enumerate().filter(|(_, object)| object.parent.is_none()) {
            if object.parse == Span::ZERO {
                self.need(core, now, number as u32);
            } else {
                core.at(now + object.parse, Timer::Object(number as u32));
            }
        }
    }

    /// An object can be asked for.
    pub fn need(&mut self, core: &mut Core, now: Time, object: u32) {
        if self.options.protocol != Protocol::Http1 {
            if core.is_ready(0) {
                return self.ask(core, now, 0, object);
            }
            self.waiting.push_back(object);
            return core.open(now, 0);
        }
        if let Some(connection) = self.idle.pop() {
            return self.ask(core, now, connection, object);
        }
        self.waiting.push_back(object);
        let numbers = 0..core.connections.len() as u32;
        let opening =
            numbers.clone().filter(|number| !core.is_closed(*number) && !core.is_ready(*number)).count();
        if self.waiting.len() > opening
            && let Some(connection) = numbers.clone().find(|number| core.is_closed(*number))
        {
            core.open(now, connection);
        }
    }

    fn ask(&mut self, core: &mut Core, now: Time, connection: u32, object: u32) {
        let message = core.ask(now, connection, self.options.page.objects()[object as usize].bytes);
        self.objects.resize(message as usize + 1, None);
        self.objects[message as usize] = Some(object);
    }

    /// A connection can take requests.
    pub fn on_ready(&mut self, core: &mut Core, now: Time, connection: u32) {
        if self.options.protocol == Protocol::Http1 {
            match self.waiting.pop_front() {
                Some(object) => self.ask(core, now, connection, object),
                None => self.idle.push(connection),
            }
        } else {
            while let Some(object) = self.waiting.pop_front() {
                self.ask(core, now, connection, object);
            }
        }
    }

    pub fn on_end(&mut self, core: &mut Core, now: Time, message: u32) {
        let connection = core.messages[message as usize].connection;
        if self.options.protocol == Protocol::Http1 {
            self.on_ready(core, now, connection);
        }
        let Some(object) = self.object(message) else { return };
        let options = self.options.clone();
        for child in &self.children.clone()[object as usize] {
            let parse = options.page.objects()[*child as usize].parse;
            core.at(now + parse, Timer::Object(*child));
        }
        let Some(page) = self.pages.last_mut() else { return };
        let bytes = options.page.objects()[object as usize].bytes;
        page.byte_seconds += bytes as f64 * now.since(page.start).seconds();
        self.left -= 1;
        if self.left == 0 {
            page.end = now;
            if let Some(repeat) = options.repeat {
                core.at(now + repeat, Timer::Page);
            }
        }
    }

    /// The object that a message carries; none if it is of the set-up.
    pub fn object(&self, message: u32) -> Option<u32> {
        self.objects.get(message as usize).copied().flatten()
    }

    /// Objects of a page.
    pub fn objects(&self) -> u32 {
        self.options.page.objects().len() as u32
    }

    /// Bytes of a page.
    pub fn bytes(&self) -> u64 {
        self.options.page.bytes()
    }
}
