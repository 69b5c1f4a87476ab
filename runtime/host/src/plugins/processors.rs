//! The processors that definitions name, which are plugins'.

use std::sync::Arc;

use roster_abi::contract::kind;
use roster_engine::registry::{BoundProcessor, NameFault, ProcessorSource};
use roster_model::BoxFuture;
use roster_model::processor::{Hooks, Passed, Piece, Processor, ProcessorContext, ProcessorError, Row, Stage};
use roster_plugin::bridge::processor::processor;

use super::PluginHost;

/// Processors by the names of plugins that are loaded; `None`: nobody loads them.
pub struct Processors(pub Option<Arc<PluginHost>>);

impl ProcessorSource for Processors {
    fn resolve(&self, name: &str) -> Result<BoundProcessor, NameFault> {
        let Some((key, id)) = name.split_once(':') else {
            return Err(NameFault {
                code: "unknown_processor",
                message: format!("unknown processor `{name}`"),
                help: Some("processors come from plugins and are named `plugin:component`".to_owned()),
            });
        };
        let Some(host) = &self.0 else { return Ok(BoundProcessor { processor: Arc::new(NotLoaded), absent: None }) };
        let Some(plugin) = host.get(key) else { return Err(host.fault("processor", name)) };
        let absent = plugin.generation().is_none().then(|| host.fault("processor", name));
        if absent.is_none() && plugin.contribution(kind::PROCESSOR, id).is_none() {
            return Err(host.fault("processor", name));
        }
        Ok(BoundProcessor { processor: processor(&plugin, id), absent })
    }
}

/// Stands for a processor where files are only looked at; asked all the same, it fails.
struct NotLoaded;

impl NotLoaded {
    fn fails<T: Send + 'static>() -> BoxFuture<'static, Result<T, ProcessorError>> {
        Box::pin(async { Err(ProcessorError::Failed("plugins are not loaded here".to_owned())) })
    }
}

impl Processor for NotLoaded {
    fn hooks(&self) -> Hooks {
        Hooks { input: true, chunk: true, output: true }
    }

    fn messages(&self, _: Stage, _: Vec<Row>, _: ProcessorContext) -> BoxFuture<'_, Result<Vec<Row>, ProcessorError>> {
        Self::fails()
    }

    fn piece(&self, _: Piece, _: ProcessorContext) -> BoxFuture<'_, Result<Passed, ProcessorError>> {
        Self::fails()
    }
}
