//! What differs between boards.

/// State of the LED.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Led {
    /// Whether it is lit.
    pub on: bool,
    /// Brightness in percent, 0 to 100; kept while the LED is off.
    pub brightness: u8,
}

/// Why a sensor gave no value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReadError {
    /// The channel is declared in the contract, and this board has no such sensor.
    NotFitted,
    /// The sensor is there and did not answer.
    Failed,
}

/// Memory figures of the board.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// Heap in use, bytes; 0 where it is not known.
    pub heap_used: usize,
    /// Largest heap use since start, bytes; 0 where it is not known.
    pub heap_peak: usize,
}

/// The functions of a board that tools call. None of them may block for long.
pub trait Board {
    /// Host name without `.local`, unique on the network.
    fn name(&self) -> &str;
    /// Kind of board: `native`, `virt`, `esp32c3`, `esp32c6`.
    fn kind(&self) -> &str;
    /// Processor or system on chip.
    fn chip(&self) -> &str;
    /// MAC address.
    fn mac(&self) -> [u8; 6];
    /// GNU build id of the running image in lowercase hex, empty where there is none.
    fn build_id(&self) -> &str;
    /// Reads a sensor channel of the contract in the unit given there.
    #[allow(async_fn_in_trait)] // one executor, one thread: the future need not be Send
    async fn read_sensor(&self, channel: &str) -> Result<f32, ReadError>;
    /// Whether a channel is fitted, without reading it.
    fn sensor_fitted(&self, channel: &str) -> bool;
    /// Drives the LED.
    fn set_led(&self, led: Led);
    /// Memory figures.
    fn stats(&self) -> Stats;
    /// 32 bits that an observer can't guess.
    fn entropy(&self) -> u32;
}
