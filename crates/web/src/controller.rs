//! Controllers of the page, in JavaScript: an event is a list of numbers in memory; the page writes the answers of the
//! controller into its first places, then the internal values ([`NumberLayout`]). The page knows the
//! fields and answers from a file that `make reference` writes from the same tables.

use cc::{
    AnyController, CachedExternal, Decision, Event, ExternalController, ExternalFactory, Failure, FlowInfo,
    NumberLayout, NumberRecord, Signals,
};
use serde_json::Value;
use std::cell::Cell;
use std::sync::Arc;
use units::Segments;

#[cfg(target_arch = "wasm32")]
#[link(wasm_import_module = "page")]
unsafe extern "C" {
    /// Passes an event to controller `controller`; 1 if it failed.
    fn pass_event(controller: u32, kind: u32, event: *mut f64) -> u32;
}

/// Passes an event to the page. Outside a browser there is no page, so every controller fails.
fn pass(controller: u32, kind: usize, event: &mut [f64]) -> bool {
    #[cfg(target_arch = "wasm32")]
    // SAFETY: the page reads and writes the places of the slice during the call alone.
    return unsafe { pass_event(controller, kind as u32, event.as_mut_ptr()) } == 0;
    #[cfg(not(target_arch = "wasm32"))]
    {
        let _ = (controller, kind, event);
        false
    }
}

thread_local! {
    static NEXT: Cell<u32> = const { Cell::new(0) };
}

/// Creates the controllers of the class that the page has loaded.
#[derive(Debug)]
pub struct PageFactory {
    name: String,
    probes: Vec<String>,
    needs: Signals,
    initial_window: Option<Segments>,
}

impl PageFactory {
    /// The factory of a request: the name of the class, or an object with `name`, `probes`, `needs` (names of signals) and
    /// `initial_window`. Fails with a message.
    pub fn new(request: &Value) -> Result<PageFactory, String> {
        let texts = |key: &str| request[key].as_array().into_iter().flatten().filter_map(Value::as_str);
        let probes: Vec<String> = texts("probes").map(str::to_string).collect();
        if probes.len() > NumberLayout::MOST_PROBES {
            let (limit, count) = (NumberLayout::MOST_PROBES, probes.len());
            return Err(format!("probes: {count} names; at most {limit} are possible"));
        }
        let mut needs = Signals::NONE;
        for name in texts("needs") {
            needs = needs.and(Signals::from_name(name)?);
        }
        let initial_window = request["initial_window"].as_f64();
        if let Some(window) = initial_window.filter(|window| !(1.0..=1e6).contains(window)) {
            return Err(format!("initialWindow is {window}, not a number from 1 to 1000000"));
        }
        let name = request.as_str().or(request["name"].as_str()).unwrap_or("page").to_string();
        Ok(PageFactory { name, probes, needs, initial_window })
    }
}

impl ExternalFactory for PageFactory {
    fn name(&self) -> &str {
        &self.name
    }
    fn probes(&self) -> &[String] {
        &self.probes
    }
    fn needs(&self) -> Signals {
        self.needs
    }
    fn initial_window(&self) -> Option<Segments> {
        self.initial_window
    }
    fn make(&self, flow: &FlowInfo) -> AnyController {
        let mut controller = PageController {
            name: self.name.clone(),
            number: NEXT.with(|next| next.replace(next.get() + 1)),
            needs: self.needs,
            probes: vec![f64::NAN; self.probes.len()],
        };
        let first = controller.pass(NumberLayout::NEW, NumberLayout::of_flow(flow));
        CachedExternal::new(Box::new(controller), first).into()
    }
}

/// One controller object of the page.
#[derive(Debug)]
struct PageController {
    name: String,
    number: u32,
    needs: Signals,
    probes: Vec<f64>,
}

impl PageController {
    /// Passes an event to the object and reads its answers and internal values.
    fn pass(&mut self, kind: usize, mut event: NumberRecord) -> Result<Decision, Failure> {
        let read = match pass(self.number, kind, &mut event) {
            true => NumberLayout::decision(&event, self.needs),
            false => Err("the controller raised an error".into()),
        };
        let probes = self.probes.iter_mut().zip(&event[NumberLayout::FIRST_PROBE..]);
        probes.for_each(|(probe, value)| *probe = *value);
        read.map_err(|message| Failure::new(message, Arc::new(())))
    }
}

impl ExternalController for PageController {
    fn name(&self) -> &str {
        &self.name
    }
    fn needs(&self) -> Signals {
        self.needs
    }
    fn on_event(&mut self, event: Event<'_>, decision: &mut Decision) -> Result<(), Failure> {
        let (kind, record) = NumberLayout::of_event(&event);
        *decision = self.pass(kind, record)?;
        Ok(())
    }
    fn probe(&self, out: &mut [f64]) {
        for (value, probe) in out.iter_mut().zip(&self.probes) {
            *value = *probe;
        }
    }
}
